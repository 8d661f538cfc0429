"""The files of the default encoder, out of a finished training run: weights, probe vectors, card, model card, docs.

python -m pipelines.evaluation.release runs/default --data ../shared/data --out encoder/default --version 2
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import numpy as np
import typer

from encoder import Encoder
from encoder.build_check import file_digest
from encoder.data.heldout import held_pairs
from encoder.data.store import Store
from encoder.default.folder import MODEL
from encoder.default.language_card import CARD, Card, Figure
from encoder.default.probe_choice import choose_probes, held_out_pairs
from encoder.default.probe_vectors import PROBES, ProbeVectors, write_probes
from encoder.languages import canonical
from encoder.quantization import quantize_encoder
from encoder.settings import validate_settings
from encoder.tokens import Tokens
from encoder.training.state import BEST, STATE_FILE, read_facts
from encoder.training.training_settings import TrainSettings
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.model_card import corpus_name, write_language_page, write_model_card
from pipelines.evaluation.samples import TestItems
from pipelines.evaluation.sources import EncodedTexts
from pipelines.evaluation.tatoeba import Tatoeba

_MEGABYTES = 28.7  # of the 32 that the package may take; the rest is for probe vectors
_MOST_HELD_OUT = 1000  # pairs of a language's held-out figure
_FEWEST_HELD_OUT = 20
# Corpora that are of other domains than documentation; words and names alone are no sentences to probe with.
_DOMAINS: dict[str, str | None] = {
    **dict.fromkeys(("tatoeba", "tatoeba_pivot"), "everyday"),
    "europarl7": "parliament",
    **dict.fromkeys(("quran", "freeciv", "widelands", "wesnoth"), "other"),
    **dict.fromkeys(("cldr", "dictionary", "names", "osm")),
}


def release(run: Path, data: Path, out: Path, *, version: int, quota: int, note: str) -> Card:
    """Write `model/`, `probes.safetensors`, `card.json` and the model card into `out`, in place of those there."""
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out, prefix=".release-") as folder:  # what is there stays until all is made
        made = Path(folder)
        card = _make(run, data, made, version=version, quota=quota, note=note)
        shutil.rmtree(out / MODEL, ignore_errors=True)
        for name in (MODEL, PROBES, CARD):
            (made / name).replace(out / name)
    return card


def _make(run: Path, data: Path, out: Path, *, version: int, quota: int, note: str) -> Card:
    facts = read_facts(run / STATE_FILE)
    settings = validate_settings(TrainSettings, facts["settings"], str(run / STATE_FILE))
    store = Store(Path(settings.data.cache or run / "data") / facts["data"])
    held = held_pairs(store, settings.evaluation.share)
    quantize_encoder(str(run / BEST), out / MODEL, megabytes=_MEGABYTES)
    encoder = Encoder.load(out / MODEL)
    domains = [domain_of(corpus.path) for corpus in settings.data.corpora]
    write_probes(out / PROBES, probe_vectors(encoder, store, held, domains, quota))
    figures = held_out_figures(encoder, store, held, domains)
    for name in ("lowresource", "tatoeba-v1"):  # the better one last
        figures |= benchmark_figures(encoder, data / "eval" / name, "UDHR" if name == "lowresource" else "Tatoeba")
    files = sorted(file for file in [out / PROBES, *(out / MODEL).iterdir()] if file.suffix != ".md")
    card = Card(
        name=f"twinlode-{len(store.languages)}/{version}",
        fingerprint=encoder.fingerprint,
        files={file.relative_to(out).as_posix(): file_digest(file) for file in files},
        trained=pairs_by_language(store),
        figures=dict(sorted(figures.items())),
    )
    (out / CARD).write_text(card.model_dump_json(indent=1) + "\n", encoding="utf-8")
    write_model_card(out / MODEL / "README.md", card, settings, note)
    return card


def domain_of(path: str) -> str | None:
    return _DOMAINS.get(corpus_name(path), "documentation")


def probe_vectors(
    encoder: Encoder, store: Store, held: Sequence[np.ndarray], domains: Sequence[str | None], quota: int
) -> ProbeVectors:
    chosen = choose_probes(store, held, domains, quota)
    vectors = encoder.encode_tokens(sentences_of(store, chosen.sentences), normalize=True)
    return ProbeVectors(vectors, chosen.language.astype(np.uint8), chosen.group, store.languages)


def sentences_of(store: Store, rows: np.ndarray) -> Tokens:
    return Tokens(store.ids, store.offsets).take(rows)


def held_out_figures(
    encoder: Encoder, store: Store, held: Sequence[np.ndarray], domains: Sequence[str | None]
) -> dict[str, Figure]:
    """P@1 of each language's own held-out pairs among each other."""
    figures = {}
    for lang in store.languages:
        pairs = held_out_pairs(store, held, domains, lang)[:_MOST_HELD_OUT]
        if len(pairs) < _FEWEST_HELD_OUT:  # learned from lists of words alone
            pairs = held_out_pairs(store, held, ["words"] * len(domains), lang)[:_MOST_HELD_OUT]
        if len(pairs) < _FEWEST_HELD_OUT:
            continue
        left, right = (encoder.encode_tokens(sentences_of(store, pairs[:, side]), normalize=True) for side in (0, 1))
        cosines, rows = left @ right.T, np.arange(len(pairs))
        hits = (cosines.argmax(1) == rows).mean() + (cosines.argmax(0) == rows).mean()
        figures[lang] = Figure(benchmark="held-out", precision=round(50 * float(hits), 1), sentences=len(pairs))
    return figures


def benchmark_figures(encoder: Encoder, folder: Path, benchmark: Literal["Tatoeba", "UDHR"]) -> dict[str, Figure]:
    """P@1 of every language of a folder; of several files of one language, that of the longest."""
    outcome = Tatoeba(data=str(folder)).run(EncodedTexts(encoder, str(folder)), DataFolder(folder))
    figures: dict[str, Figure] = {}
    for score in outcome.scores:
        if score.metric != "P@1" or not isinstance(score.sample, TestItems):  # of one direction, or an average
            continue
        lang, (lines,) = canonical(score.dataset), score.sample.sizes()
        if lang not in figures or figures[lang].sentences < lines:
            figures[lang] = Figure(benchmark=benchmark, precision=round(score.value, 1), sentences=lines)
    return figures


def pairs_by_language(store: Store) -> dict[str, int]:
    totals = dict.fromkeys(store.languages, 0)
    for source in store.sources:
        if "en" in source.langs:
            totals[next(lang for lang in source.langs if lang != "en")] += len(source.pairs)
    return totals


def main(
    run: Annotated[Path, typer.Argument(help="Folder of a finished training, see configs/ems-small.yaml.")],
    data: Annotated[Path, typer.Option(help="Folder with eval/tatoeba-v1 and eval/lowresource.")],
    out: Annotated[Path, typer.Option(help="The package folder, encoder/default.")],
    version: Annotated[int, typer.Option(help="Of this encoder.")] = 1,
    quota: Annotated[int, typer.Option(help="Probe pairs of each language with English.")] = 180,
    note: Annotated[str, typer.Option(help="What else the model card should say of how it was made.")] = "",
    docs: Annotated[Path, typer.Option(help="Where the page with a figure for each language goes.")] = Path(
        "docs/languages.md"
    ),
) -> None:
    card = release(run, data, out, version=version, quota=quota, note=note)
    write_language_page(docs, card)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file() and file.suffix != ".py")
    print(f"{card.name}, fingerprint {card.fingerprint}, {size / 1e6:.2f} MB in {out}")


if __name__ == "__main__":
    typer.run(main)
