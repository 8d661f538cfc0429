"""Our normalisation and SentencePiece model as a Hugging Face tokenizer, for encoders without word segmentation."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from sentencepiece import SentencePieceProcessor

from encoder.normalize import ARABIC_LETTERS, VOWEL_MARKS, NormalizeSettings, safe_forms
from encoder.subword import PAD_ID, UNK_ID, Subword

# encoder.normalize's control characters without lone surrogates, which no UTF-8 text of a tokenizer can hold
_CONTROL = (
    "[\\x00-\\x08\\x0e-\\x1b\\x7f\\x{80}-\\x{84}\\x{86}-\\x{9f}\\x{ad}\\x{61c}\\x{200b}\\x{200e}\\x{200f}\\x{202a}-\\x{202e}"
    "\\x{2060}-\\x{206f}\\x{feff}\\x{fff9}-\\x{fffb}\\x{fffe}\\x{ffff}]"
)
_WHITESPACE = r"[\s\x1c-\x1f]+"  # the four separators are white space to Python, not to Unicode
# Numbers of sentencepiece_model.proto: the classes for it inside sentencepiece want a newer protobuf than Beam takes.
_TRAINER_SPEC, _NORMALIZER_SPEC, _MODEL_TYPE, _BPE, _CHARSMAP = 2, 3, 3, 2, 2
_FINAL_SIGMA = r"(?<=\p{L})Σ(?!\p{L})"  # Python lowers a capital sigma by its place in the word, tokenizers does not


def standard_tokenizer(subword: Subword, settings: NormalizeSettings, max_tokens: int) -> Any:
    """A `PreTrainedTokenizerFast` with the ids that `TextEncoder` gives when it does not segment."""
    from tokenizers import Tokenizer, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = _pieces(subword)
    tokenizer = Tokenizer(_bpe(pieces) if _is_bpe(subword.model) else _unigram(pieces))
    tokenizer.normalizer = _normalizer(settings)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=pieces[UNK_ID].name,
        pad_token=pieces[PAD_ID].name,
        model_max_length=max_tokens,
    )


class _Piece(NamedTuple):
    name: str  # pieces that no text can spell, such as <pad> and <2de>, get a name that no text can spell
    score: float
    is_text: bool


def _pieces(subword: Subword) -> list[_Piece]:
    found = SentencePieceProcessor(model_proto=subword.model)
    ids = range(len(found))
    spelled = [subword.is_text(i) for i in ids]
    names = [found.id_to_piece(i) if spelled[i] else f"\x00{found.id_to_piece(i)}" for i in ids]
    return [_Piece(names[i], found.get_score(i), spelled[i]) for i in ids]


def _is_bpe(model: bytes) -> bool:
    return bool(_fields(_fields(model)[_TRAINER_SPEC]).get(_MODEL_TYPE) == _BPE)


def _fields(message: bytes) -> dict[int, Any]:
    """A message of protobuf by the numbers of its fields; of a repeated one the last."""
    from google.protobuf.empty_pb2 import Empty
    from google.protobuf.unknown_fields import UnknownFieldSet

    found = Empty()
    found.ParseFromString(message)
    return {field.field_number: field.data for field in UnknownFieldSet(found)}


def _unigram(pieces: list[_Piece]) -> Any:
    from tokenizers.models import Unigram

    lowest = min(piece.score for piece in pieces)  # from which tokenizers derives the penalty of unknown characters
    scored = [(piece.name, piece.score if piece.is_text else lowest) for piece in pieces]
    return Unigram(scored, unk_id=UNK_ID, byte_fallback=False)


def _bpe(pieces: list[_Piece]) -> Any:
    from tokenizers.models import BPE

    vocabulary = {piece.name: i for i, piece in enumerate(pieces)}
    # SentencePiece takes the pair that makes the best piece, whichever two halves make it.
    text = {piece.name: piece.score for piece in pieces if piece.is_text}
    merges = [
        (whole[:cut], whole[cut:])
        for whole in sorted(text, key=lambda name: -text[name])
        for cut in range(1, len(whole))
        if whole[:cut] in text and whole[cut:] in text
    ]
    return BPE(vocabulary, merges, unk_token=pieces[UNK_ID].name, fuse_unk=True)


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
    charsmap: bytes = _fields(_fields(compiled.serialized_model_proto())[_NORMALIZER_SPEC])[_CHARSMAP]
    return charsmap
