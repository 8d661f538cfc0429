"""Parallel text to a token store: read, filter, exclude and tokenize once, on all cores, and remember it."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from itertools import chain, groupby, islice
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from encoder.data.corpora import CorpusFile, DataSettings, find_files
from encoder.data.exclusion import is_excluded, read_exclusions
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group, Malformed, Triple
from encoder.data.store import MANIFEST, Store, StoreWriter, TokenBlock
from encoder.tokens import Tokens
from encoder.workers import start_worker
from mining.errors import InputError
from mining.files import atomic_path
from mining.paths import resolve

_BLOCK_SENTENCES = 20_000
_STORE_VERSION = 2
Row = TypeVar("Row")


class Tokenizer(Protocol):
    def encode(self, sentences: Sequence[str], lang: str | None) -> Tokens: ...


class TokenizerRecipe(NamedTuple):
    """How worker processes make the tokenizer, and what identifies its output."""

    make: Callable[[], Tokenizer]
    fingerprint: str
    workers: int  # 1 for tokenizers that use all cores themselves


class TextBlock(NamedTuple):
    corpus: int
    groups: list[Group]
    triples: list[tuple[int, int, int]]  # numbers of groups in this block


class Tokenized(NamedTuple):
    corpus: int
    block: TokenBlock
    dropped: Counter[str]  # groups, by reason


Report = Callable[[int], None]  # called with the number of groups tokenized so far


def prepare(
    data: DataSettings,
    tokenizer: TokenizerRecipe,
    cache: Path,
    *,
    exclude: Sequence[str] = (),
    strict: bool = False,
    report: Report = lambda groups: None,
) -> Store:
    """The store for these settings and files: the one made before when nothing has changed, else a new one."""
    files = find_files(data)
    folder = cache / f"data-{data_fingerprint(data, files, tokenizer.fingerprint, exclude, strict)}"
    if not (folder / MANIFEST).exists():
        _build(folder, data, files, tokenizer, exclude, strict, report)
    store = Store(folder)
    if not store.sentences:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(store.counters.items())) or "no lines"
        raise InputError(f"{files[0].name}: no sentence to train on in the {len(files)} file(s) of `data` ({reasons})")
    return store


def data_fingerprint(
    data: DataSettings, files: Sequence[CorpusFile], tokenizer: str, exclude: Sequence[str], strict: bool
) -> str:
    """Changes with anything that changes the store; how corpora are weighed does not."""
    identity = [
        _STORE_VERSION,
        data.languages,
        data.pairs,
        tokenizer,
        strict,
        [[*file, [_file_state(path) for path in file.paths]] for file in files],
        [_file_state(path) for path in exclude],
        *([most] if (most := draw_limits(data)) else []),
    ]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]


def _file_state(path: str) -> list[str]:
    filesystem, inner = resolve(path)
    try:
        info = filesystem.info(inner)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    return [path, str(info["size"]), str(info.get("mtime") or info.get("etag") or info.get("updated"))]


def _build(
    folder: Path,
    data: DataSettings,
    files: Sequence[CorpusFile],
    tokenizer: TokenizerRecipe,
    exclude: Sequence[str],
    strict: bool,
    report: Report,
) -> None:
    counters: Counter[str] = Counter()
    groups = 0
    with atomic_path(folder) as temporary, closing(StoreWriter(temporary, data.pairs)) as writer:
        blocks = text_blocks(files, data.languages, strict, counters, draw_limits(data), tokenizer.fingerprint)
        for corpus, block, dropped in _tokenize(blocks, tokenizer, read_exclusions(exclude)):
            counters.update(dropped)
            writer.add(corpus, block)
            groups += len(block.sizes) + dropped.total()
            report(groups)
        writer.finish(dict(counters))


def draw_limits(data: DataSettings) -> dict[int, int]:
    """The number of rows to draw of each corpus that has a limit."""
    return {number: corpus.most for number, corpus in enumerate(data.corpora) if corpus.most is not None}


def text_blocks(
    files: Iterable[CorpusFile],
    languages: Sequence[str] | None,
    strict: bool,
    counters: Counter[str],
    most: Mapping[int, int] = MappingProxyType({}),
    tokenizer: str | None = None,
) -> Iterator[TextBlock]:
    """Groups of wanted languages in blocks; malformed lines are counted, or are errors when `strict`."""
    for corpus, own in groupby(files, key=lambda file: file.corpus):
        rows: Iterable[Group | Triple] = chain.from_iterable(
            _good_rows(file, strict, counters, tokenizer) for file in own
        )
        block = TextBlock(corpus, [], [])
        sentences = 0
        for row in sampled(rows, most[corpus]) if corpus in most else rows:
            added = _add(block, row, languages)
            if not added:
                counters["other languages"] += 1
            sentences += added
            if sentences >= _BLOCK_SENTENCES:
                yield block
                block, sentences = TextBlock(corpus, [], []), 0
        if block.groups:
            yield block


def _good_rows(
    file: CorpusFile, strict: bool, counters: Counter[str], tokenizer: str | None
) -> Iterator[Group | Triple]:
    for row in read_groups(file, tokenizer):
        if not isinstance(row, Malformed):
            yield row
        elif strict:
            raise InputError(f"{file.name}, line {row.line}: {row.reason}; fix it or leave out --strict")
        else:
            counters[row.reason] += 1


def sampled(rows: Iterable[Row], most: int, seed: int = 0) -> list[Row]:
    """At most this many rows, each as likely as any other (reservoir sampling), in the order of the corpus."""
    draw = random.Random(seed)
    kept: list[tuple[int, Row]] = []
    for number, row in enumerate(rows):
        if number < most:
            kept.append((number, row))
        elif (place := draw.randrange(number + 1)) < most:
            kept[place] = (number, row)
    return [row for _, row in sorted(kept, key=lambda entry: entry[0])]


def _add(block: TextBlock, row: Group | Triple, languages: Sequence[str] | None) -> int:
    """Put what is in wanted languages into the block; the number of sentences."""
    if isinstance(row, Group):
        kept = _only(row, languages)
        found = [kept] if len(kept.langs) >= min(2, len(row.langs)) else []
    else:
        found = [_only(group, languages) for group in row]
        if all(group.langs for group in found):
            first = len(block.groups)
            block.triples.append((first, first + 1, first + 2))
        else:
            found = []
    block.groups.extend(found)
    return sum(len(group.langs) for group in found)


def _only(group: Group, languages: Sequence[str] | None) -> Group:
    if languages is None or all(lang in languages for lang in group.langs):
        return group
    kept = [(lang, text) for lang, text in group.sentences if lang in languages]
    return Group(tuple(lang for lang, _ in kept), tuple(text for _, text in kept))


def _tokenize(blocks: Iterator[TextBlock], tokenizer: TokenizerRecipe, excluded: frozenset[int]) -> Iterator[Tokenized]:
    first = list(islice(blocks, 4))
    if len(first) < 4 or tokenizer.workers == 1:  # a small corpus is done before worker processes have started
        encoder = tokenizer.make()
        for block in chain(first, blocks):
            yield tokenize_block(encoder, block, excluded)
        return
    # Not forked: torch and the tokenizers may already run threads here, which do not survive a fork.
    with ProcessPoolExecutor(
        tokenizer.workers, get_context("spawn"), initializer=_start_worker, initargs=(tokenizer.make, excluded)
    ) as pool:
        waiting: deque[Future[Tokenized]] = deque()
        for block in chain(first, blocks):
            waiting.append(pool.submit(_work, block))
            if len(waiting) > 3 * tokenizer.workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


_worker: tuple[Tokenizer, frozenset[int]]


def _start_worker(make: Callable[[], Tokenizer], excluded: frozenset[int]) -> None:
    global _worker
    start_worker()
    os.environ["OMP_NUM_THREADS"] = "1"
    _worker = (make(), excluded)


def _work(block: TextBlock) -> Tokenized:
    return tokenize_block(_worker[0], block, _worker[1])


def tokenize_block(tokenizer: Tokenizer, block: TextBlock, excluded: frozenset[int]) -> Tokenized:
    """Encode language by language, put sentences back in order, drop what is excluded or empty."""
    dropped: Counter[str] = Counter()
    kept = [n for n, group in enumerate(block.groups) if not is_excluded(group.texts, excluded)]
    groups = [block.groups[n] for n in kept]
    dropped["excluded"] += len(block.groups) - len(groups)
    names = tuple(sorted({lang for group in groups for lang in group.langs}))
    number = {name: n for n, name in enumerate(names)}
    languages = np.array([number[lang] for group in groups for lang in group.langs], np.int16)
    tokens = _encode(tokenizer, groups, names, languages)
    whole = np.array([len(group.texts) for group in groups], np.int64)
    sentence_ok = tokens.lengths > 0
    group_of = np.repeat(np.arange(len(whole)), whole)
    sizes = np.bincount(group_of, sentence_ok, len(whole)).astype(np.int64)
    in_triple = np.isin(kept, np.array(block.triples, np.int64))
    usable = sizes >= np.where(in_triple, 1, np.minimum(2, whole))  # a translation needs a partner
    dropped["no tokens"] += int((~usable).sum())
    rows = np.flatnonzero(sentence_ok & usable[group_of])
    triples = _renumber(block.triples, np.asarray(kept, np.int64)[usable], len(block.groups))
    return Tokenized(
        block.corpus, TokenBlock(tokens.take(rows), names, languages[rows], sizes[usable], triples), +dropped
    )


def _renumber(triples: list[tuple[int, int, int]], kept: np.ndarray, groups: int) -> np.ndarray:
    """Triples whose three groups were kept, in the numbers of those."""
    number = np.full(groups, -1)
    number[kept] = np.arange(len(kept))
    found = number[np.array(triples, np.int64).reshape(-1, 3)]
    return found[(found >= 0).all(axis=1)]


def _encode_distinct(tokenizer: Tokenizer, texts: Sequence[str], lang: str) -> Tokens:
    """The tokens of some texts of a language; triples have the same ones many times."""
    number = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    tokens = tokenizer.encode(list(number), lang)
    return tokens if len(number) == len(texts) else tokens.take(np.array([number[text] for text in texts]))


def _encode(tokenizer: Tokenizer, groups: Sequence[Group], names: Sequence[str], languages: np.ndarray) -> Tokens:
    """The tokens of all sentences: those that are known, and the others language by language."""
    texts = [text for group in groups for text in group.texts]
    known = np.repeat([group.tokens is not None for group in groups], [len(group.texts) for group in groups])
    rows = [np.flatnonzero(~known & (languages == n)) for n in range(len(names))]
    parts = [_encode_distinct(tokenizer, [texts[i] for i in of], name) for of, name in zip(rows, names, strict=True)]
    if known.any():
        rows.append(np.flatnonzero(known))
        parts.append(Tokens.from_lists([tokens for group in groups for tokens in group.tokens or ()]))
    if not parts:
        return Tokens(np.zeros(0, np.int32), np.zeros(1, np.int64))
    lengths = np.concatenate([part.lengths for part in parts])
    joined = Tokens(np.concatenate([part.ids for part in parts]), np.concatenate([[0], np.cumsum(lengths)]))
    return joined.take(np.argsort(np.concatenate(rows), kind="stable"))
