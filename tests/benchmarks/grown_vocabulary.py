"""A bag encoder with subwords for more scripts, as the beginning of a training on more languages.

    python -m tests.benchmarks.grown_vocabulary START SENTENCEPIECE OUT --languages te kn ...

The pieces of START stay as they are, with their numbers, so that its weights keep their meaning; of those of another
SentencePiece model it gains what it cannot spell, and the scripts of which it has few pieces. Their vectors are zero.
"""

from __future__ import annotations

import argparse
import unicodedata
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from sentencepiece import sentencepiece_model_pb2 as proto

from encoder.checkpoint import SUBWORD, load_checkpoint, save_checkpoint
from encoder.romanise import spell
from encoder.subword import SPACE_PIECE, Subword

_ENOUGH = 236  # pieces of a script of which no more are taken: those of the least known one that words were learned in


def script(piece: str) -> str:
    """The first word of the name of its first letter."""
    letters = piece.strip(SPACE_PIECE)
    return unicodedata.name(letters[0], "?").split()[0] if letters else ""


def grown(old: bytes, other: bytes, languages: list[str]) -> bytes:
    """The model `old` with pieces of `other` and tokens of languages behind its own."""
    model, more = proto.ModelProto.FromString(old), proto.ModelProto.FromString(other)
    known = {piece.piece for piece in model.pieces}
    characters = {letter for piece in known for letter in piece}
    scripts = Counter(map(script, known))
    for piece in more.pieces:
        if piece.type != proto.ModelProto.SentencePiece.NORMAL or piece.piece in known:
            continue
        if not set(piece.piece) <= characters or scripts[script(piece.piece)] < _ENOUGH:
            model.pieces.append(piece)
    control = proto.ModelProto.SentencePiece.CONTROL
    tokens = [f"<2{lang}>" for lang in sorted(languages) if f"<2{lang}>" not in known]
    model.pieces.extend(proto.ModelProto.SentencePiece(piece=token, score=0.0, type=control) for token in tokens)
    model.trainer_spec.vocab_size = len(model.pieces)
    return model.SerializeToString()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("start", type=Path)
    parser.add_argument("sentencepiece", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--languages", nargs="+", required=True)
    options = parser.parse_args()
    found = load_checkpoint(options.start)
    with TemporaryDirectory() as folder:
        path = Path(folder) / SUBWORD
        both = ((options.start / SUBWORD).read_bytes(), options.sentencepiece.read_bytes())
        path.write_bytes(grown(*both, options.languages))
        subword = Subword.load(path)
        state = found.model.state_dict()
        tokens = state["tokens.weight"]
        added = torch.zeros(subword.vocabulary - len(tokens), tokens.shape[1])
        state["tokens.weight"] = torch.cat([tokens, added])
        state["word_starts"] = torch.from_numpy(subword.word_starts())
        state["spellings"] = torch.from_numpy(spell(subword.pieces()))
        save_checkpoint(options.out, state, found.settings, path, found.metrics)
    print(f"{len(tokens):,} subwords and {len(added):,} new ones")


if __name__ == "__main__":
    main()
