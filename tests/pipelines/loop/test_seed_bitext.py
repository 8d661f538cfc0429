"""The seed: drawn evenly and once, probes apart, nothing of an evaluation file."""

from pathlib import Path

import pytest

from encoder.data.corpora import CorpusSettings
from encoder.data.exclusion import exclusion_key
from mining.errors import InputError
from pipelines.loop.loop_settings import SeedSettings
from pipelines.loop.seed_bitext import even_shares, make_seed, probes_path, seed_keys, trained_path

PAIRS = ("de-en", "fr-en")


@pytest.fixture
def settings(tmp_path: Path) -> SeedSettings:
    for lang, count in (("de", 300), ("fr", 200)):
        lines = (f"en word{n}\t{lang} word{n}\n" for n in range(count))
        (tmp_path / f"en-{lang}.tsv").write_text("".join(lines) + f"en word0\t{lang} wort0\n")
    (tmp_path / "nway.jsonl").write_text('{"en": "all  three", "de": "alle drei", "fr": "tous trois"}\n')
    paths = (str(tmp_path / "en-*.tsv"), str(tmp_path / "nway.jsonl"))
    return SeedSettings(corpora=tuple(CorpusSettings(path=path) for path in paths), pairs=260, probes=80)


def lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_evenly_and_apart(settings: SeedSettings, tmp_path: Path) -> None:
    folder = tmp_path / "seed"
    record = make_seed(settings, PAIRS, folder, frozenset({exclusion_key("EN WORD5")}), 0)
    assert record.pairs == {"de-en": 140, "fr-en": 120}  # fr has 200 and no more: 81 of 201 are probes or excluded
    for pair in PAIRS:
        trained, probes = lines(trained_path(folder, pair)), lines(probes_path(folder, pair))
        assert (len(trained), len(probes)) == (record.pairs[pair], 80)
        source, target = pair.split("-")
        assert all(
            one.startswith((source, "alle", "tous")) and other.startswith((target, "all")) for one, other in trained
        )
        everything = [text for texts in (*trained, *probes) for text in texts]
        assert len(set(everything)) == len(everything)  # no sentence twice, probe or trained
        assert "en word5" not in everything
        assert len(seed_keys(folder, pair)) == record.pairs[pair] + 80


def test_the_same_seed_is_drawn_again_and_another_is_another(settings: SeedSettings, tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        make_seed(settings, PAIRS, tmp_path / name, frozenset(), seed)
    texts = [trained_path(tmp_path / name, "de-en").read_text() for name in ("one", "two", "three")]
    assert texts[0] == texts[1] != texts[2]


def test_weights_say_how_often(settings: SeedSettings, tmp_path: Path) -> None:
    heavy, light = settings.corpora
    weighed = settings.model_copy(
        update={"corpora": (heavy.model_copy(update={"weight": 1e-9}), light), "pairs": 4, "probes": 80}
    )
    make_seed(weighed, PAIRS, tmp_path / "seed", frozenset(), 0)
    probes = lines(probes_path(tmp_path / "seed", "de-en"))
    assert probes[0] == ["alle drei", "all three"]  # first of all that were drawn


def test_most_of_a_corpus_is_drawn(settings: SeedSettings, tmp_path: Path) -> None:
    corpora = (CorpusSettings(path=str(tmp_path / "en-de.tsv"), most=100), *settings.corpora[1:])
    limited = settings.model_copy(update={"corpora": corpora, "pairs": None})
    for name, seed in (("one", 0), ("two", 1)):
        drawn = make_seed(limited, ["de-en"], tmp_path / name, frozenset(), seed)
        assert 99 - 80 <= drawn.pairs["de-en"] <= 101 - 80  # a sentence that is there twice may be drawn twice
    keys = [seed_keys(tmp_path / name, "de-en") for name in ("one", "two")]
    assert keys[0] != keys[1]


def test_too_little_seed(settings: SeedSettings, tmp_path: Path) -> None:
    greedy = settings.model_copy(update={"probes": 250})
    with pytest.raises(InputError, match="fr-en: the seed has 201 pairs, but 250 of them are to be probes"):
        make_seed(greedy, PAIRS, tmp_path / "seed", frozenset(), 0)
    assert not (tmp_path / "seed").exists()


@pytest.mark.parametrize(
    ("room", "wanted", "shares"),
    [
        ({"a": 10, "b": 10}, 7, {"a": 3, "b": 4}),
        ({"a": 10, "b": 2}, 8, {"a": 6, "b": 2}),
        ({"a": 1, "b": 2}, 100, {"a": 1, "b": 2}),
        ({"a": 5, "b": 6}, None, {"a": 5, "b": 6}),
    ],
)
def test_shares(room: dict[str, int], wanted: int | None, shares: dict[str, int]) -> None:
    assert even_shares(room, wanted) == shares
