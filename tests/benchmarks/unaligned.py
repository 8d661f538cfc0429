"""Text for the loop's experiment: `python -m tests.benchmarks.unaligned ../shared/data runs/unaligned`.

`pool/` keeps a small part of parallel text whole, as seed; the sides of the rest go, unaligned, to one shuffled file a
language (`unaligned.de` ..., BUCC's form), a quarter of each side without its counterpart. The alignment goes to
`unaligned-de-en.gold`, which the loop only uses to say how right it was. Nothing in the files is also in the pool.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import xxhash

from encoder.data.corpora import CorpusSettings, DataSettings, find_files
from encoder.data.exclusion import exclusion_key
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group
from mining.files import atomic_text, iterate_lines

LANGUAGES = ("de", "fr", "es", "zh", "ru", "cs")
# Groups to take from each file, so that no domain drowns the others.
QUOTAS = {
    "nway/europarl7.jsonl.xz": 10_000,
    "nway/multi30k.jsonl.xz": 3_000,
    "nway/libreoffice.jsonl.xz": 6_000,
    "nway/pydocs.jsonl.xz": 4_000,
    "nway/freebsd.jsonl.xz": 2_000,
    "nway/freeciv.jsonl.xz": 1_200,
    "nway/widelands.jsonl.xz": 1_800,
    **{f"tatoeba/en-{lang}.tsv.xz": 5_000 for lang in ("de", "fr", "es")},
    **{f"tatoeba/en-{lang}.tsv.xz": 10_000 for lang in ("zh", "ru", "cs")},
    **{f"mdn/en-{lang}.tsv.xz": 2_000 for lang in ("fr", "es", "ru", "zh")},
    "k8s/en-zh.tsv.xz": 5_000,
}
POOL = 0.35  # as many groups again, of what is to be mined, stay whole
LONE = 0.25  # of what is to be mined, without counterpart
Texts = dict[str, str]


def chance(text: str, salt: int) -> float:
    """A number from 0 to 1 that depends on the text alone, so that an English sentence meets one fate in all files."""
    return xxhash.xxh3_64_intdigest(text.encode(), seed=salt) / 2**64


def groups(path: Path) -> Iterator[Texts]:
    """Groups with English, in an order that chance gives."""
    file = find_files(DataSettings(corpora=(CorpusSettings(path=str(path)),)))[0]
    found = []
    for group in read_groups(file):
        if isinstance(group, Group):
            texts = {lang: " ".join(text.split()) for lang, text in zip(*group, strict=True)}
            if "en" in texts and any(lang in texts for lang in LANGUAGES):
                found.append(texts)
    return iter(sorted(found, key=lambda texts: chance(texts["en"], 1)))


def make(data: Path, out: Path) -> None:
    pool: list[Texts] = []
    unaligned: list[Texts] = []
    for name, quota in QUOTAS.items():
        found = list(groups(data / "train" / name))
        cut = min(int(POOL * quota), int(len(found) * POOL / (1 + POOL)))
        pool += found[:cut]
        unaligned += found[cut : cut + quota]
    for lang in LANGUAGES:
        with atomic_text(str(out / "pool" / f"{lang}-en.tsv")) as stream:
            stream.writelines(f"{texts[lang]}\t{texts['en']}\n" for texts in pool if lang in texts)
    known = {exclusion_key(text) for texts in pool for text in texts.values()}
    write_unaligned(out, [{k: v for k, v in texts.items() if exclusion_key(v) not in known} for texts in unaligned])
    write_documents(data, out)


def write_unaligned(out: Path, unaligned: list[Texts]) -> None:
    ids: dict[str, dict[str, str]] = {"en": {}, **{lang: {} for lang in LANGUAGES}}
    for texts in unaligned:
        for lang, text in texts.items():
            if lang in ids and chance(text, 2) > LONE:
                ids[lang].setdefault(text, "")
    for lang, sentences in ids.items():
        shuffled = sorted(sentences)
        random.Random(lang).shuffle(shuffled)
        ids[lang] = {text: f"{lang}-{number:09d}" for number, text in enumerate(shuffled, 1)}
        with atomic_text(str(out / f"unaligned.{lang}")) as stream:
            stream.writelines(f"{id_}\t{text}\n" for text, id_ in ids[lang].items())
    for lang in LANGUAGES:
        pairs = {(texts.get(lang, ""), texts.get("en", "")) for texts in unaligned}
        with atomic_text(str(out / f"unaligned-{lang}-en.gold")) as stream:
            lines = sorted(f"{ids[lang][a]}\t{ids['en'][b]}\n" for a, b in pairs if a in ids[lang] and b in ids["en"])
            stream.writelines(lines)
            print(f"{lang}: {len(ids[lang]):,} sentences, {len(lines):,} pairs with the {len(ids['en']):,} in English")


def write_documents(data: Path, out: Path) -> None:
    """The English documents of Kubernetes that exist in one of the smaller languages, for a smaller English side."""
    wanted = {
        line.partition("\t")[0]
        for lang in ("de", "fr", "es", "ru")
        for line in iterate_lines(str(data / "mono" / f"k8s.{lang}.tsv.gz"))
    }
    with atomic_text(str(out / "k8s.en")) as stream:
        for line in iterate_lines(str(data / "mono" / "k8s.en.tsv.gz")):
            if line.partition("\t")[0] in wanted:
                stream.write(line + "\n")


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
