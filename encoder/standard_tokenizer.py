"""Our normalisation and SentencePiece model as a Hugging Face tokenizer, for encoders without word segmentation."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from encoder.normalize import ARABIC_LETTERS, VOWEL_MARKS, NormalizeSettings, safe_forms
from encoder.subword import PAD_ID, UNK_ID, Subword

# encoder.normalize's control characters without lone surrogates, which no UTF-8 text of a tokenizer can hold
_CONTROL = (
    "[\\x00-\\x08\\x0e-\\x1b\\x7f\\x{80}-\\x{84}\\x{86}-\\x{9f}\\x{ad}\\x{61c}\\x{200b}\\x{200e}\\x{200f}\\x{202a}-\\x{202e}"
    "\\x{2060}-\\x{206f}\\x{feff}\\x{fff9}-\\x{fffb}\\x{fffe}\\x{ffff}]"
)
_WHITESPACE = r"[\s\x1c-\x1f]+"  # the four separators are white space to Python, not to Unicode
_FINAL_SIGMA = r"(?<=\p{L})Σ(?!\p{L})"  # Python lowers a capital sigma by its place in the word, tokenizers does not


def standard_tokenizer(subword: Subword, settings: NormalizeSettings, max_tokens: int) -> Any:
    """A `PreTrainedTokenizerFast` with the ids that `TextEncoder` gives when it does not segment."""
    from tokenizers import Tokenizer, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    proto = _proto(subword.model)
    tokenizer = Tokenizer(_bpe(proto) if proto.trainer_spec.model_type == 2 else _unigram(proto))
    tokenizer.normalizer = _normalizer(settings)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=_name(proto.pieces[UNK_ID]),
        pad_token=_name(proto.pieces[PAD_ID]),
        model_max_length=max_tokens,
    )


def _proto(model: bytes) -> Any:
    from sentencepiece import sentencepiece_model_pb2

    proto: Any = vars(sentencepiece_model_pb2)["ModelProto"]()  # protobuf makes the class at import, unseen by mypy
    proto.ParseFromString(model)
    return proto


def _unigram(proto: Any) -> Any:
    from tokenizers.models import Unigram

    lowest = min(
        piece.score for piece in proto.pieces
    )  # from which tokenizers derives the penalty of unknown characters
    pieces = [(_name(piece), piece.score if _is_text(piece) else lowest) for piece in proto.pieces]
    return Unigram(pieces, unk_id=UNK_ID, byte_fallback=False)


def _bpe(proto: Any) -> Any:
    from tokenizers.models import BPE

    vocabulary = {_name(piece): i for i, piece in enumerate(proto.pieces)}
    text = {piece.piece for piece in proto.pieces if _is_text(piece)}
    # SentencePiece takes the pair that makes the best piece, whichever two halves make it.
    by_score = sorted((piece for piece in proto.pieces if _is_text(piece)), key=lambda piece: -piece.score)
    merges = [
        (whole[:cut], whole[cut:])
        for whole in (piece.piece for piece in by_score)
        for cut in range(1, len(whole))
        if whole[:cut] in text and whole[cut:] in text
    ]
    return BPE(vocabulary, merges, unk_token=_name(proto.pieces[UNK_ID]), fuse_unk=True)


def _name(piece: Any) -> str:
    """Pieces that no text can spell, such as <pad> and <2de>, get a name that no text can spell."""
    return str(piece.piece) if _is_text(piece) else f"\x00{piece.piece}"


def _is_text(piece: Any) -> bool:
    return bool(piece.type == piece.NORMAL)


def _normalizer(settings: NormalizeSettings) -> Any:
    from tokenizers import Regex, normalizers

    steps: list[Any] = []
    if settings.control:
        steps.append(normalizers.Replace(Regex(_CONTROL), ""))
    if settings.nfkc:
        steps += [normalizers.Precompiled(_safe_forms_map()), normalizers.NFC()]
    if settings.vowel_marks:
        steps.append(normalizers.Replace(Regex(VOWEL_MARKS.pattern), ""))
        steps += [normalizers.Replace(chr(letter), chr(plain)) for letter, plain in ARABIC_LETTERS.items()]
    if settings.whitespace:
        steps.append(normalizers.Replace(Regex(_WHITESPACE), " "))
    # SentencePiece itself drops extra spaces, so these go whatever the settings.
    steps += [normalizers.Replace(Regex(" +"), " "), normalizers.Replace(Regex(r"\A | \z"), "")]
    if settings.lowercase:
        sigma = normalizers.Replace(Regex(_FINAL_SIGMA), "ς")
        steps += [normalizers.Replace("İ", "i"), sigma, normalizers.Lowercase()]
    return normalizers.Sequence(steps)


def _safe_forms_map() -> bytes:
    """`safe_forms` in the compiled form that SentencePiece and tokenizers share."""
    import sentencepiece

    rows = [f"{code:X}\t{' '.join(f'{ord(c):X}' for c in plain)}" for code, plain in safe_forms().items()]
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.tsv"
        rules.write_text("\n".join(rows) + "\n")
        compiled = sentencepiece.SentencePieceNormalizer(rule_tsv=str(rules))
    charsmap: bytes = _proto(compiled.serialized_model_proto()).normalizer_spec.precompiled_charsmap
    return charsmap
