"""Subwords for more scripts: the old ones keep their numbers and cut as before."""

from pathlib import Path

from encoder.subword import Subword, SubwordSettings, train_subword
from tests.benchmarks.grown_vocabulary import grown

_LATIN = ["the cat sees the dog", "a dog eats the bread", "the bird sings a song", "cats and dogs eat bread"] * 5
_THAI = ["แมว เห็น หมา", "หมา กิน ขนมปัง", "นก ร้อง เพลง", "แมว กิน นก"] * 5


def test_pieces_of_a_new_script_follow_the_old_ones(tmp_path: Path) -> None:
    train_subword({"en": _LATIN}, SubwordSettings(vocabulary=25, model="unigram"), tmp_path / "old.model")
    train_subword({"en": _LATIN, "th": _THAI}, SubwordSettings(vocabulary=45, model="unigram"), tmp_path / "new.model")
    old = Subword.load(tmp_path / "old.model")
    more = Subword(grown(old.model, (tmp_path / "new.model").read_bytes(), ["th", "en"]))
    assert more.pieces()[: old.vocabulary] == old.pieces()
    assert more.languages == ("en", "th")
    assert old.unk_id in old.encode(["แมว"]).ids and more.unk_id not in more.encode(["แมว"]).ids
    assert more.decode(more.encode(["แมว กิน"])) == ["แมว กิน"]
