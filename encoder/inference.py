"""Vectors of sentences, fast: token-budget batches of nearly equal length, order restored."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count
from typing import NamedTuple

import numpy as np
import torch
import xxhash

from encoder import default
from encoder.checkpoint import content_fingerprint, is_checkpoint, load_checkpoint, local_copy
from encoder.half_precision import require_half
from encoder.matrix_products import fast_products
from encoder.models import Bag, Pretrained, PretrainedSettings, SentenceModel
from encoder.models.pretrained import TokenizerText, local_folder
from encoder.models.static import is_static, load_static
from encoder.settings import ComputeType
from encoder.text import TextEncoder
from encoder.tokens import Tokens
from mining.errors import InputError

# Matrices of this many rows keep a CPU core busy and still fit its cache; a GPU wants far more.
_CPU_TOKENS, _GPU_TOKENS, _BAG_TOKENS = 2048, 32768, 1 << 19
# A matrix product of fewer rows than this takes another path through the BLAS, and rounds otherwise.
_FEWEST_TOKENS = 64


@dataclass
class EncoderCounters:
    """What an encoder has met since it was loaded."""

    sentences: int = 0
    empty: int = 0
    repeated: int = 0


class Span(NamedTuple):
    """Rows `start` to `stop` of the sentences sorted by length."""

    start: int
    stop: int


class Encoder:
    """Text in, vectors out: a model with the text side that it was trained with."""

    def __init__(
        self,
        model: SentenceModel,
        text: TextEncoder | TokenizerText,
        *,
        fingerprint: str,
        languages: tuple[str, ...] = (),
        device: str = "auto",
        threads: int | None = None,
        compute_dtype: ComputeType = "float32",
    ) -> None:
        self.device = _device(device)
        require_half(compute_dtype, self.device)
        self.compute_dtype = compute_dtype
        self.model = model.to(self.device).eval()
        self.text = text
        self.fingerprint = fingerprint
        self.languages = languages
        self.threads = threads or torch.get_num_threads()
        self.counters = EncoderCounters()

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | None = None,
        device: str = "auto",
        threads: int | None = None,
        *,
        compute_dtype: ComputeType = "float32",
        trust_remote_code: bool = False,
    ) -> Encoder:
        """A twinlode checkpoint, a sentence-transformers or Hugging Face folder (each also as a URL), or a hub id.

        Without `path`, the default encoder that comes with the package.

        `threads` bounds the CPU cores in use; by default what torch would use. `compute_dtype` is what is
        multiplied in: float16 and bfloat16 are faster on an accelerator, bfloat16 also on a CPU that has it, and
        change the last digits of the vectors, which stay float32.
        Python code that comes with a model is run only with `trust_remote_code`.
        """
        source = os.fspath(default.model_folder() if path is None else path)
        source = str(local_copy(source)) if "://" in source else source
        if is_checkpoint(source):
            found = load_checkpoint(source, trust_remote_code=trust_remote_code)
            return cls(
                found.model,
                found.text,
                fingerprint=found.fingerprint,
                languages=found.settings.languages,
                device=device,
                threads=threads,
                compute_dtype=compute_dtype,
            )
        settings = PretrainedSettings(source=source, trust_remote_code=trust_remote_code)
        return cls.from_pretrained(settings, device=device, threads=threads, compute_dtype=compute_dtype)

    @classmethod
    def from_pretrained(
        cls,
        settings: PretrainedSettings,
        device: str = "auto",
        threads: int | None = None,
        *,
        compute_dtype: ComputeType = "float32",
    ) -> Encoder:
        """Any Hugging Face encoder, with a choice of pooling, length and trust; or static embeddings."""
        folder = local_folder(settings.source)
        model: SentenceModel
        text: TokenizerText
        if is_static(folder):
            model, text = load_static(folder)
        else:
            model = pretrained = Pretrained.load(settings)
            text = pretrained.text
        choices = settings.model_dump_json(exclude={"source"})
        content = content_fingerprint(folder)
        fingerprint = xxhash.xxh3_128(f"{content}\n{choices}".encode()).hexdigest()
        return cls(model, text, fingerprint=fingerprint, device=device, threads=threads, compute_dtype=compute_dtype)

    @property
    def dim(self) -> int:
        return self.model.dim

    @cached_property
    def batch_tokens(self) -> int:
        if isinstance(self.model, Bag):
            return _BAG_TOKENS
        return _CPU_TOKENS if self.device.type == "cpu" else _GPU_TOKENS

    def tokenize(self, sentences: Sequence[str], lang: str | None = None) -> Tokens:
        """Token ids, truncated to what the model takes; `lang` picks the segmentation."""
        if isinstance(sentences, str):
            raise InputError("encode takes a list of sentences and was given one string; write encode([sentence])")
        if lang is None and isinstance(self.text, TextEncoder) and self.text.settings.segment:
            warnings.warn("without lang=, sentences are segmented as English ones are", stacklevel=3)
        tokens = self.text.encode(sentences, lang)
        return tokens.truncate(self.model.max_tokens) if self.model.max_tokens else tokens

    def encode(
        self,
        sentences: Sequence[str],
        lang: str | None = None,
        *,
        batch_tokens: int | None = None,
        normalize: bool = False,
        progress: bool = False,
    ) -> np.ndarray:
        """Vectors (n, dim) float32 in the order of `sentences`; each distinct sentence is computed once.

        An empty sentence is counted; it gives zeros, or what a pretrained model makes of its special tokens alone.
        """
        if isinstance(sentences, str):
            raise InputError("encode takes a list of sentences and was given one string; write encode([sentence])")
        distinct = list(dict.fromkeys(sentences))
        self.counters.sentences += len(sentences)
        self.counters.repeated += len(sentences) - len(distinct)
        tokens = self.tokenize(distinct, lang)
        self.counters.empty += len(sentences) - sum(map(bool, map(str.strip, sentences)))
        vectors = self.encode_tokens(tokens, batch_tokens=batch_tokens, normalize=normalize, progress=progress)
        if len(distinct) == len(sentences):
            return vectors
        number = dict(zip(distinct, count(), strict=False))
        return vectors[np.fromiter(map(number.__getitem__, sentences), np.int64, len(sentences))]

    def encode_tokens(
        self, tokens: Tokens, *, batch_tokens: int | None = None, normalize: bool = False, progress: bool = False
    ) -> np.ndarray:
        """Vectors (n, dim) float32 of sentences that are token ids already."""
        order: np.ndarray | None = None
        ordered = tokens
        if not isinstance(self.model, Bag):
            order = np.argsort(-tokens.lengths, kind="stable")  # longest first: what does not fit memory fails at once
            ordered = tokens.take(order)
        spans = self.spans(ordered.lengths, batch_tokens)
        vectors = np.empty((len(ordered.lengths), self.dim), np.float32)

        def start(span: Span) -> torch.Tensor:
            with torch.inference_mode():  # which belongs to the thread, as torch's number of threads does
                return self._forward(ordered, span, normalize)

        def finish(span: Span, made: torch.Tensor) -> int:
            rows = slice(span.start, span.stop)
            vectors[rows if order is None else order[rows]] = made.cpu().numpy()
            return span.stop - span.start

        for _ in _bar(self._run_all(start, finish, spans), len(vectors), progress):
            pass
        return vectors

    def _in_compute_dtype(self) -> AbstractContextManager[object]:
        """Autocast belongs to the thread; inside of one, weights are cast once."""
        if self.compute_dtype == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, getattr(torch, self.compute_dtype))

    def spans(self, lengths: np.ndarray, batch_tokens: int | None = None) -> list[Span]:
        """The batches of sentences sorted by falling length; of a bag, which pads nothing, in any order."""
        cut = by_tokens if isinstance(self.model, Bag) else plan
        return list(cut(lengths, batch_tokens or self.batch_tokens))

    def _forward(self, ordered: Tokens, span: Span, normalize: bool) -> torch.Tensor:
        offsets = ordered.offsets[span.start : span.stop + 1]
        tokens = Tokens(ordered.ids[offsets[0] : offsets[-1]], offsets - offsets[0])
        if 0 < len(tokens.ids) < _FEWEST_TOKENS:
            tokens = Tokens.concatenate([tokens] * -(-_FEWEST_TOKENS // len(tokens.ids)))
        vectors = self.model(tokens.batch(self.device))[: span.stop - span.start].float()  # (batch, dim)
        return torch.nn.functional.normalize(vectors, dim=-1) if normalize else vectors

    def _run_all(
        self, start: Callable[[Span], torch.Tensor], finish: Callable[[Span, torch.Tensor], int], spans: list[Span]
    ) -> Iterator[int]:
        """On a CPU each core takes whole batches: no core waits for another, and no product is split, inside one."""
        if self.device.type != "cpu":
            with self._in_compute_dtype():
                yield from _one_ahead(start, finish, spans)
            return

        def run(span: Span) -> int:
            torch.set_num_threads(1)
            with self._in_compute_dtype():
                return finish(span, start(span))

        before = torch.get_num_threads()
        workers = max(1, min(self.threads, len(spans)))
        try:
            with fast_products():
                yield from _pool(workers).map(run, spans)
        finally:
            torch.set_num_threads(before)


def _one_ahead(
    start: Callable[[Span], torch.Tensor], finish: Callable[[Span, torch.Tensor], int], spans: Sequence[Span]
) -> Iterator[int]:
    """A device works on a batch while the host prepares the next one: only then is the result of the first awaited."""
    pending: tuple[Span, torch.Tensor] | None = None
    for span in spans:
        begun = span, start(span)
        if pending is not None:
            yield finish(*pending)
        pending = begun
    if pending is not None:
        yield finish(*pending)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads that stay: the memory that each new one sets aside for itself would be kept for ever."""
    return ThreadPoolExecutor(workers, thread_name_prefix="encode")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


def plan(lengths: np.ndarray, batch_tokens: int) -> Iterator[Span]:
    """Spans of sentences sorted by falling length, none above `batch_tokens` tokens.

    All sentences of a span are equally long. They need neither padding nor mask, and the vector of a sentence does not
    depend on its neighbours: padding would change the last bits of it.
    """
    start, end = 0, len(lengths)
    falling = -lengths
    while start < end:
        stop = min(end, start + max(1, batch_tokens // max(1, int(lengths[start]))))
        stop = start + int(np.searchsorted(falling[start:stop], falling[start], "right"))
        yield Span(start, stop)
        start = stop


def by_tokens(lengths: np.ndarray, batch_tokens: int) -> Iterator[Span]:
    """Spans of sentences in their order, none above `batch_tokens` tokens but where one sentence is."""
    ends = np.cumsum(np.maximum(lengths, 1))
    start = 0
    while start < len(lengths):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + batch_tokens, "right")))
        yield Span(start, stop)
        start = stop


def _bar(done: Iterator[int], total: int, progress: bool) -> Iterator[int]:
    if not progress:
        yield from done
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("encode"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("encode", total=total)
        for count in done:
            bar.advance(task, count)
            yield count


def _device(name: str) -> torch.device:
    if name != "auto":
        try:
            chosen = torch.device(name)
        except RuntimeError:
            raise InputError(f"{name!r} is not a device; choose auto, cpu, cuda or cuda:N") from None
        if chosen.type == "cuda" and not torch.cuda.is_available():
            raise InputError(f"--device {name}: torch sees no GPU here; use auto or cpu")
        return chosen
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
