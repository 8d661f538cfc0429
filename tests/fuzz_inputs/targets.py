"""What is fuzzed: a file, the ways to spoil it, and what then reads it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz_inputs.mutations import BYTES, LINES, MARKUP, TREE, VALUES, Mutation

Call = Callable[[str], object]
_SHARED = ("--src-lang", "en", "--tgt-lang", "de", "--lang-filter", "assume", "--encoder", "encoder")
NAMES = [
    "with space.{}", "quo'te.{}", 'dou"ble.{}', "new\nline.{}", "per%cent%20.{}", "sharp#.{}", "what?.{}", "star*.{}",
    "[a-z].{}", "{{a,b}}.{}", "$HOME.{}", "`id`.{}", "-dash.{}", "a:b.{}", "a::b.{}", "\udcff\udcfe.{}", "é.{}",
    "e\u0301.{}",
    "tab\t.{}", "back\\slash.{}", "x" * 240 + ".{}", "~.{}", ".hidden.{}", "a&b;c.{}", "\u202eabc.{}", "a..{}", "😀.{}",
]  # fmt: skip


@dataclass(frozen=True)
class Target:
    """`path` is spoilt in a copy of the inputs; then the command is run, or the function called with its name."""

    name: str
    path: str
    mutations: Sequence[Mutation]
    arguments: tuple[str, ...] = ()
    call: Call | None = None
    weight: int = 4
    compress: bool = False
    must_refuse: bool = False  # a checksum knows every change
    names: tuple[str, ...] = field(default=())  # a message may name one of these instead


def read_corpus_file(path: str) -> None:
    """A corpus as `train` reads it."""
    from encoder.data.corpora import CorpusSettings, DataSettings, find_files
    from encoder.data.parallel_readers import read_groups

    corpus = CorpusSettings(path=path, langs=None if path.endswith((".jsonl", ".tmx")) else ("en", "de"))
    for file in find_files(DataSettings(corpora=(corpus,))):
        for _ in read_groups(file):
            pass


def read_bitext(path: str) -> None:
    """A bitext as `clean` reads it: every row is kept or has a reason."""
    from pipelines.clean.bitext_chunks import BitextSettings, read_chunks

    for table in read_chunks(BitextSettings(path=path, src_lang="en", tgt_lang="de")):
        for source, target, reason in zip(
            *(table[name].to_pylist() for name in ("source", "target", "reason")), strict=True
        ):
            assert reason or (source and target), f"a pair without text and without reason: {source!r} {target!r}"


def read_documents(path: str) -> None:
    from pipelines.align.documents import read_corpus
    from pipelines.prepare.readers import ReadSettings

    read_corpus([path], ReadSettings(lang="en"), "assume")


def read_exclusion(path: str) -> None:
    from encoder.data.exclusion import read_exclusions

    read_exclusions([path])


def read_settings(model: str) -> Call:
    def call(path: str) -> None:
        from importlib import import_module

        from encoder.settings import load_settings

        module, _, name = model.rpartition(".")
        load_settings(getattr(import_module(module), name), Path(path))

    return call


def open_review(path: str) -> None:
    from pipelines.review.review_session import Session

    session = Session("given/mined", 20)
    session.mark(session.sample.sampled[0].key, "right")


def _prepare(kind: str, mutations: Sequence[Mutation], compress: bool = True) -> Target:
    arguments = ("prepare", "{}", "--lang", "en", "--lang-filter", "assume", "--out", "out")
    return Target(f"prepare {kind}", f"fuzz/a.{kind}", mutations, arguments, weight=6, compress=compress)


def _pairs(what: str, kind: str, mutations: Sequence[Mutation], call: Call) -> Target:
    return Target(f"{what} {kind}", f"fuzz/en-de.{kind}", mutations, call=call, weight=7, compress=kind != "parquet")


def _settings(name: str, model: str, weight: int = 4) -> Target:
    return Target(f"settings {name}", f"{name}.yaml", TREE, call=read_settings(model), weight=weight)


def _dataset(name: str, path: str, mutations: Sequence[Mutation], *arguments: str, refuse: bool = False) -> Target:
    folder = str(Path(path).parent)
    return Target(name, path, mutations, arguments, must_refuse=refuse, names=(folder, "given/"), weight=3)


_EMBED = ("embed", "fuzz/two.txt", "--lang", "en", "--encoder", "encoder", "-o", "out.npy")
_EMBED_DATASET = ("embed", "given/src", "--encoder", "encoder", "--out", "out")
_BITEXTS = (("tsv", LINES), ("jsonl", TREE), ("tmx", MARKUP), ("parquet", BYTES))
_GRAPH = ("graph", "given/src-vectors", "given/tgt-vectors", "--k", "2", "--out", "out")
_VECTORS = (
    "mine-vectors", "--src-vectors", "{}", "--tgt-vectors", "{}", "--src-text", "src.lines", "--tgt-text", "src.lines",
    "--top", "5", "-o", "out.tsv",
)  # fmt: skip
_GIVEN_VECTORS = tuple(part.replace("{}", "fuzz/v.npy") for part in _VECTORS)

TARGETS: list[Target] = [
    *(_prepare(kind, LINES) for kind in ("txt", "tsv", "jsonl", "po")),
    *(_prepare(kind, MARKUP) for kind in ("html", "warc", "wet")),
    _prepare("parquet", BYTES, compress=False),
    _prepare("mo", BYTES, compress=False),
    *(_pairs("corpus", kind, ways, read_corpus_file) for kind, ways in (*_BITEXTS, ("po", LINES), ("mo", BYTES))),
    *(_pairs("bitext", kind, ways, read_bitext) for kind, ways in _BITEXTS),
    Target("bitext zip", "fuzz/en-de.txt.zip", BYTES, call=read_bitext, weight=5),
    *(
        Target(f"documents {kind}", f"fuzz/a.{kind}", mutations, call=read_documents, weight=5, compress=True)
        for kind, mutations in (("txt", LINES), ("html", MARKUP), ("warc", MARKUP))
    ),
    *(_pairs("exclusion", kind, ways, read_exclusion) for kind, ways in _BITEXTS),
    *(
        Target(f"inspect {path}", f"fuzz/{path}", BYTES, ("inspect", "{}"))
        for path in ("v.npy", "v.arrow", "en-de.parquet", "en-de.tmx")
    ),
    *(Target(f"mine-vectors {path}", f"fuzz/{path}", BYTES, _VECTORS, weight=3) for path in ("v.npy", "v.arrow")),
    Target("mine-vectors bin", "fuzz/v.bin", BYTES, (*_VECTORS, "--dim", "16", "--dtype", "float32"), weight=2),
    Target("mine-vectors text", "src.lines", LINES, _GIVEN_VECTORS, names=("v.npy",), weight=3),
    *(
        Target(f"encoder {path}", f"encoder/{path}", mutations, _EMBED, names=("encoder",), weight=5)
        for path, mutations in (
            ("model.safetensors", BYTES), ("sentencepiece.model", BYTES), ("config.yaml", TREE), ("fingerprint", LINES),
            ("metrics.json", TREE),
        )
    ),
    *(
        Target(f"inspect {path}", f"encoder/{path}", mutations, ("inspect", "encoder"), names=("encoder",), weight=3)
        for path, mutations in (("model.safetensors", BYTES), ("config.yaml", TREE), ("metrics.json", TREE))
    ),
    _dataset("vectors manifest", "given/src-vectors/manifest.json", TREE, *_GRAPH),
    _dataset("vectors shard", "given/src-vectors/*.arrow", BYTES, *_GRAPH, refuse=True),
    _dataset("sentences manifest", "given/src/manifest.json", TREE, *_EMBED_DATASET),
    _dataset("sentences shard", "given/src/*.parquet", BYTES, *_EMBED_DATASET, refuse=True),
    *(
        _dataset(f"{name} manifest", f"given/mined/{name}/manifest.json", TREE, "inspect", f"given/mined/{name}")
        for name in ("src", "src-vectors", "graph", "pairs")
    ),
    _dataset("report pairs", "given/mined/pairs/*.parquet", BYTES, "inspect", "given/mined/pairs", refuse=True),
    _settings("train", "encoder.training.training_settings.TrainSettings", 8),
    _settings("loop", "pipelines.loop.loop_settings.LoopSettings", 8),
    _settings("compare", "pipelines.evaluation.comparison.CompareSettings", 5),
    _settings("classifier", "pipelines.clean.classifier_training.ClassifierSettings"),
    *(
        Target(f"review {name}", f"given/mined/{path}", mutations, call=open_review, names=("given/mined",))
        for name, path, mutations in (
            ("marks", "review/marks.jsonl", TREE), ("sample", "review/sample.json", TREE),
            ("result", "review.json", TREE),
        )
    ),
]  # fmt: skip

# Commands whose options are given values that no option can have.
OPTIONS: dict[str, tuple[str, ...]] = {
    "prepare": ("prepare", "fuzz/a.txt", "--lang", "en", "--lang-filter", "assume", "--out", "out"),
    "embed": _EMBED,
    "graph": _GRAPH,
    "mine-vectors": _GIVEN_VECTORS,
    "mine": ("mine", "fuzz/two.txt", "fuzz/two.txt", *_SHARED, "--top", "2", "-o", "out.tsv"),
    "align": ("align", "fuzz/two.txt", "fuzz/two.txt", *_SHARED, "-o", "out.tsv"),
    "inspect": ("inspect", "fuzz/v.npy"),
    "report": ("report", "given/mined", "--out", "out.html"),
    "export": ("export", "encoder", "--out", "out"),
    "clean": ("clean", "fuzz/en-de.tsv", "-o", "out.tsv", "--encoder", "encoder"),
    "eval": ("eval", "tatoeba", "--data", "tatoeba", "--encoder", "encoder"),
    "train": ("train", "train.yaml", "--out", "out", "--set", "limits.steps=1"),
    "compare": ("compare", "compare.yaml", "--out", "out", "--row", "none"),
    "loop": ("loop", "loop.yaml", "--out", "out", "--set", "updates=0"),
    "review": ("review", "nowhere"),
    "import": ("import", "encoder", "--out", "out"),
}  # fmt: skip


def drawn_options(draw: random.Random) -> tuple[str, tuple[str, ...]]:
    """A command with one or two options of values out of range."""
    import typer

    from pipelines.cli import app

    name = draw.choice(list(OPTIONS))
    group: Any = typer.main.get_command(app)
    options = [p for p in group.get_command(None, name).params if p.param_type_name == "option"]
    parameters = [p for p in options if p.name not in ("help", "minutes")]  # who asks for years gets years
    given = list(OPTIONS[name])
    for parameter in draw.sample(parameters, k=min(len(parameters), draw.choice([1, 1, 2]))):
        given.append(parameter.opts[0])
        if not parameter.is_flag:
            values = draw.choices([str(value) for value in VALUES], k=max(parameter.nargs, 1))
            given += [value.replace("\0", "").encode("utf-8", "replace").decode() for value in values]
    return name, tuple(given)


def drawn_name(draw: random.Random) -> tuple[str, str, tuple[str, ...]]:
    """A command that reads and writes files with a name that is hard to handle: input, its new name, arguments."""
    kind, path, arguments = draw.choice(
        [
            ("txt", "fuzz/a.txt", ("prepare", "{}", "--lang", "en", "--lang-filter", "assume", "--out", "{}.out")),
            ("txt", "fuzz/two.txt", ("embed", "{}", "--lang", "en", "--encoder", "encoder", "-o", "{}.npy")),
            ("npy", "fuzz/v.npy", ("inspect", "{}")),
            ("npy", "fuzz/v.npy", (*_VECTORS[:-1], "{}.tsv")),
            ("tsv", "fuzz/en-de.tsv", ("inspect", "{}")),
            ("txt", "fuzz/two.txt", ("align", "{}", "{}", *_SHARED, "-o", "{}.tsv")),
        ]
    )
    return path, draw.choice(NAMES).format(kind), arguments
