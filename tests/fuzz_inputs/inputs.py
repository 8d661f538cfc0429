"""Good files of every format, to be spoilt: made beside the inputs of the soak."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import numpy as np
import polib
import pyarrow as pa
import pyarrow.parquet as pq

from mining.vectors import write_vectors
from tests.pipelines.demo.wheels import catalog
from tests.pipelines.prepare.readers.test_web import PAGE, WET, response

PAIRS = [
    ("The train leaves at nine.", "Der Zug fährt um neun ab."),
    ("We could not find the key.", "Wir konnten den Schlüssel nicht finden."),
    ("She reads 3 books.", "Sie liest 3 Bücher."),
    ("名前を書いて。", "Schreiben Sie Ihren Namen."),
] * 3  # fmt: skip
TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header creationtool="x" segtype="sentence" srclang="en" adminlang="en" o-tmf="x"
 datatype="plaintext"/>
<body>{}</body></tmx>
"""


def write_fuzz_inputs(folder: Path) -> None:
    os.chdir(folder)
    here = Path("fuzz")
    here.mkdir()
    english = "".join(f"{source}\n" for source, _ in PAIRS)
    files = {
        "a.txt": english,
        "two.txt": "one two\nthree four five\n",
        "a.tsv": "".join(f"{number}\t{source}\n" for number, (source, _) in enumerate(PAIRS)),
        "a.jsonl": "".join(json.dumps({"text": source, "id": n}) + "\n" for n, (source, _) in enumerate(PAIRS)),
        "a.html": PAGE.format("good"),
        "en-de.tsv": "".join(f"{source}\t{target}\n" for source, target in PAIRS),
        "en-de.jsonl": "".join(json.dumps({"en": s, "de": t, "src_text": s, "tgt_text": t}) + "\n" for s, t in PAIRS),
        "en-de.tmx": TMX.format(
            "".join(
                f'<tu><tuv xml:lang="en"><seg>{s}</seg></tuv><tuv xml:lang="de"><seg>{t}</seg></tuv></tu>'
                for s, t in PAIRS
            )
        ),
    }
    for name, text in files.items():
        (here / name).write_text(text, encoding="utf-8")
    (here / "a.wet").write_bytes(b"".join(WET))
    (here / "a.warc").write_bytes(b"".join(response(f"http://{n}", PAGE.format(n).encode()) for n in "abc"))
    messages = catalog(PAIRS[:4])
    for name in ("a", "en-de"):
        messages.save(str(here / f"{name}.po"))
        messages.save_as_mofile(str(here / f"{name}.mo"))
    assert polib.pofile(str(here / "a.po"))
    table = pa.table(
        {"text": [s for s, _ in PAIRS], "src_text": [s for s, _ in PAIRS], "tgt_text": [t for _, t in PAIRS]}
    )
    for name in ("a", "en-de"):
        pq.write_table(table, here / f"{name}.parquet")
    with zipfile.ZipFile(here / "en-de.txt.zip", "w") as archive:
        for end, lines in zip(("en", "de"), zip(*PAIRS, strict=True), strict=True):
            archive.writestr(f"X.en-de.{end}", "\n".join(lines) + "\n")
    vectors = np.random.default_rng(3).normal(size=(90, 16)).astype(np.float32)
    np.save(here / "v.npy", vectors)
    vectors.tofile(here / "v.bin")
    write_vectors(str(here / "v.arrow"), np.arange(90), vectors)
    review()


def review() -> None:
    """A review with some marks."""
    from pipelines.review.review_session import Session

    session = Session("given/mined", 20)
    for number, pair in enumerate(session.sample.sampled[:8]):
        session.mark(pair.key, "wrong" if number % 4 == 3 else "right")
