"""The SentencePiece model of a run: trained on a balanced sample of its corpora, and remembered."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path

from encoder.data.corpora import DataSettings, find_files
from encoder.data.exclusion import is_excluded, read_exclusions
from encoder.data.preparation import TextBlock, data_fingerprint, draw_limits, text_blocks
from encoder.subword import Subword, SubwordSettings, train_subword
from encoder.text import TextEncoder, TextSettings
from encoder.text import prepare as prepare_text
from mining.errors import InputError


def prepare_subword(
    data: DataSettings,
    text: TextSettings,
    subword: SubwordSettings,
    cache: Path,
    *,
    exclude: Sequence[str] = (),
    strict: bool = False,
) -> Path:
    """Path of the SentencePiece model for these settings and files, trained now unless it was before."""
    files = find_files(data)
    identity = [text.model_dump(), subword.model_dump()]
    settings = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    path = cache / f"sentencepiece-{data_fingerprint(data, files, settings, exclude, strict)}.model"
    if not path.exists():
        blocks = text_blocks(files, data.languages, strict, Counter(), draw_limits(data))
        sample = sample_texts(_allowed(blocks, read_exclusions(exclude)), subword)
        if not sample:
            raise InputError(f"{files[0].name}: no sentence to train on in the {len(files)} file(s) of `data`")
        prepared = {lang: prepare_text(sentences, lang, text) for lang, sentences in sample.items()}
        train_subword(prepared, subword, path)
    return path


def _allowed(blocks: Iterable[TextBlock], excluded: frozenset[int]) -> Iterator[TextBlock]:
    for block in blocks:
        yield block._replace(groups=[group for group in block.groups if not is_excluded(group.texts, excluded)])


def load_tokenizer(settings: TextSettings, path: Path) -> TextEncoder:
    """The text side of an encoder; here, so that worker processes import no more than they need."""
    return TextEncoder(settings, Subword.load(path))


def sample_texts(blocks: Iterable[TextBlock], settings: SubwordSettings) -> dict[str, list[str]]:
    """Sentences of each language in proportion to n^(1/temperature), in one pass; small languages are repeated.

    Reservoirs are cut to their current shares whenever they hold twice the sample, so memory stays bounded.
    """
    rng = random.Random(settings.random_seed)
    most = settings.sample_sentences
    kept: dict[str, list[str]] = {}
    seen: dict[str, int] = {}
    room: dict[str, int] = {}
    for block in blocks:
        for group in block.groups:
            for lang, text in group.sentences:
                seen[lang] = seen.get(lang, 0) + 1
                reservoir = kept.setdefault(lang, [])
                if len(reservoir) < room.setdefault(lang, most):
                    reservoir.append(text)
                elif (place := rng.randrange(seen[lang])) < len(reservoir):
                    reservoir[place] = text
        if sum(map(len, kept.values())) > 2 * most:
            room = shares(seen, most, settings.temperature)
            kept = {lang: rng.sample(texts, min(room[lang], len(texts))) for lang, texts in kept.items()}
    sizes = shares(seen, min(most, sum(seen.values())), settings.temperature)
    return {lang: list(islice(cycle(rng.sample(texts, len(texts))), sizes[lang])) for lang, texts in kept.items()}


def shares(counts: Mapping[str, int], total: int, temperature: float) -> dict[str, int]:
    """How many of `total` sentences each language gets: at least one, unless it has none."""
    weights = {lang: count ** (1 / temperature) if count else 0.0 for lang, count in counts.items()}
    scale = total / max(sum(weights.values()), 1e-9)
    return {lang: max(math.floor(weight * scale), 1) if weight else 0 for lang, weight in weights.items()}
