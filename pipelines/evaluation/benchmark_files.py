"""The files of a benchmark: read whatever their compression, checked for alignment, hashed as they are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import xxhash

from mining.errors import InputError
from mining.files import iterate_lines

COMPRESSIONS = ("", ".xz", ".gz", ".zst", ".bz2")
# MLDoc's files have the names of languages where others have codes, CLS has a code of its own.
_NAMES = {
    "jp": "ja",
    "chinese": "zh",
    "english": "en",
    "french": "fr",
    "german": "de",
    "italian": "it",
    "japanese": "ja",
    "russian": "ru",
    "spanish": "es",
}
_LANGUAGE = rf"({'|'.join(_NAMES)}|[A-Za-z]{{2,4}}(?:[-_][A-Za-z0-9]+)*)"


@dataclass(frozen=True)
class Texts:
    """Sentences to encode; `name` is what a file of precomputed vectors for them is called."""

    name: str
    lines: list[str]
    lang: str | None = None

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def digest(self) -> str:
        return _digest(self.lines)

    def take(self, rows: Iterable[int], name: str) -> Texts:
        """Some of the sentences under another name."""
        return Texts(name, [self.lines[row] for row in rows], self.lang)


@dataclass
class DataFolder:
    """A folder with the files of a benchmark; remembers a hash of each file that was read.

    `prefix` tells apart files of one name in several folders, in the hash and in the names of texts.
    """

    root: Path
    prefix: str = ""
    digests: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.root.is_dir():
            raise InputError(f"{self.root}: no such folder; --data must be the folder of the benchmark's files")

    def find(self, name: str) -> str | None:
        """The file `name`, plain or compressed, if it is there."""
        return next((name + suffix for suffix in COMPRESSIONS if (self.root / (name + suffix)).is_file()), None)

    def matching(self, pattern: str) -> list[str]:
        """Files by glob pattern, compressed ones included, sorted."""
        found = {path for suffix in COMPRESSIONS for path in self.root.glob(pattern + suffix) if path.is_file()}
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def languages(self, template: str) -> dict[str, str]:
        """Files by the language in their name: `{lang}` in `template` stands for a code, `*` for anything."""
        if "{lang}" not in template:
            raise InputError(f"{template!r} must have {{lang}} where the language stands in the file names")
        expression = re.escape(plain(template)).replace(r"\*", "[^/]*")
        expression = expression.replace(r"\{lang\}", _LANGUAGE, 1)
        expression = expression.replace(r"\{lang\}", r"\1")
        found: dict[str, str] = {}
        for name in self.matching(template.replace("{lang}", "*")):
            match = re.fullmatch(expression, plain(name))
            if match is None:
                continue
            if match[1] in found:
                both = f"{found[match[1]]} and {name}"
                raise InputError(f"{self.root}: {both} both fit {template!r} for {match[1]}; name one of them exactly")
            found[match[1]] = name
        if not found:
            raise InputError(f"{self.root}: no file is called like {template!r}")
        return found

    def named(self, name: str) -> str:
        """What the texts of a file are called: its path without the ending of its compression."""
        return self.prefix + plain(name)

    def lines(self, name: str) -> list[str]:
        """All lines of a file that must exist, compressed or not."""
        found = self.find(name)
        if found is None:
            raise InputError(f"{self.root / name}: no such file")
        lines = list(iterate_lines(str(self.root / found)))
        self.digests[self.named(found)] = _digest(lines)
        return lines

    def stream(self, name: str) -> Iterator[str]:
        """The lines of a file that is too large to keep; hashed once they have all been read."""
        found = self.find(name)
        if found is None:
            raise InputError(f"{self.root / name}: no such file")
        digest = xxhash.xxh3_128()
        for line in iterate_lines(str(self.root / found)):
            _add_line(digest, line)
            yield line
        self.digests[self.named(found)] = digest.hexdigest()

    def texts(self, name: str, lang: str | None) -> Texts:
        """A file of one sentence a line; an empty one is an error."""
        texts = Texts(self.named(name), self.lines(name), lang)
        if not texts.lines:
            raise InputError(f"{self.root / name}: the file is empty; there is nothing to evaluate for {lang or name}")
        return texts

    def rows(self, name: str, columns: int, what: str) -> Iterator[tuple[int, list[str]]]:
        """Line numbers and the first tab-separated fields; `what` describes a line in the error."""
        for number, line in enumerate(self.lines(name), 1):
            fields = line.split("\t")
            if len(fields) < columns:
                raise InputError(f"{self.root / name}, line {number}: {len(fields)} tab-separated fields, but {what}")
            yield number, fields

    def digest(self) -> str:
        """One hash of the names and contents of all that was read, the same in a suite as alone."""
        named = {name.removeprefix(self.prefix): digest for name, digest in self.digests.items()}
        return _digest(f"{name} {named[name]}" for name in sorted(named))


def is_language(name: str) -> bool:
    """Whether it has the form of a code, or is a name that files have in its place."""
    return re.fullmatch(_LANGUAGE, name) is not None


def language_code(name: str) -> str:
    """The code of a language that a file name has as a name or a code."""
    return _NAMES.get(name, name)


def plain(name: str) -> str:
    """A file name without the ending of its compression."""
    return next((name.removesuffix(suffix) for suffix in COMPRESSIONS[1:] if name.endswith(suffix)), name)


def require_aligned(root: Path, first: Texts, second: Texts) -> None:
    """Refuse two files of which line n does not go with line n."""
    if len(first) != len(second):
        raise InputError(
            f"{root}: {first.name} has {len(first):,} lines, but {second.name} has {len(second):,}; "
            "they must be aligned line by line"
        )


def _digest(lines: Iterable[str]) -> str:
    digest = xxhash.xxh3_128()
    for line in lines:
        _add_line(digest, line)
    return digest.hexdigest()


def _add_line(digest: xxhash.xxh3_128, line: str) -> None:
    digest.update(line.encode())
    digest.update(b"\n")
