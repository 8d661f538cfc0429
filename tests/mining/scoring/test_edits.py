"""Edits that change what an English sentence says."""

from __future__ import annotations

from collections import Counter

import pytest

from mining.scoring.antonyms import ANTONYMS
from mining.scoring.edits import Edit, EditMaker, hard_candidates

CORPUS = [
    "On Monday Anna Berg met 17 old friends in Oslo.",
    "The river near Turin is not deep.",
    "Did Peter Holm leave before 1984?",
    "You may take two apples, but you can't keep them.",
    "Nobody has seen the small ship since May.",
    "In Oslo the winter was long.",
]


def made(text: str, kind: Edit, most: int = 20) -> set[str]:
    return set(EditMaker(CORPUS).make(text, kind, most))


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (CORPUS[1], Edit.negation, {"The river near Turin is deep."}),
        (CORPUS[5], Edit.negation, {"In Oslo the winter was not long."}),
        (CORPUS[2], Edit.negation, {"Didn't Peter Holm leave before 1984?"}),
        (CORPUS[3], Edit.negation, {"You may take two apples, but you can keep them."}),
        ("They have seen it.", Edit.negation, {"They have not seen it."}),
        ("They have a boat.", Edit.negation, set()),
        ("They never won’t.", Edit.negation, {"They won’t."}),
        (CORPUS[3], Edit.modality, {CORPUS[3].replace("may", verb) for verb in ("must", "will")}),
        ("It may not rain.", Edit.modality, set()),
        (CORPUS[5], Edit.antonym, {"In Oslo the winter was short."}),
        ("Old men.", Edit.antonym, {"New men."}),
        (CORPUS[0], Edit.name, {
            "On Monday Peter Holm met 17 old friends in Oslo.", "On Monday Anna Berg met 17 old friends in Turin.",
        }),
        ("In the winter.", Edit.name, set()),
        ("In the winter.", Edit.shuffled, set()),
        ("Nothing of that.", Edit.number, set()),
    ],
)  # fmt: skip
def test_edits(text: str, kind: Edit, expected: set[str]) -> None:
    assert made(text, kind) == expected


def test_numbers_keep_their_length_and_their_first_digits() -> None:
    for edit in made(CORPUS[2], Edit.number):
        assert edit.startswith("Did Peter Holm leave before 19") and edit.endswith("?") and len(edit) == len(CORPUS[2])
        assert edit != CORPUS[2]
    assert made("It cost 1,250.75 euros.", Edit.number) <= {
        f"It cost 1,250.{number:02} euros." for number in range(100) if number != 75
    }
    words = {edit.split()[3] for edit in made(CORPUS[3], Edit.number)}
    assert len(words) > 1 and "two" not in words
    days = {edit.split()[1] for edit in made(CORPUS[0], Edit.number)}
    assert days & {"Tuesday", "Friday", "Sunday", "Thursday", "Wednesday", "Saturday"}


def test_a_shuffled_sentence_has_its_words_and_its_full_stop() -> None:
    (edit,) = EditMaker(CORPUS).make(CORPUS[0], Edit.shuffled)
    assert edit != CORPUS[0] and edit.endswith(".")
    assert Counter(edit.rstrip(".").split()) == Counter(CORPUS[0].rstrip(".").split())


def test_edits_depend_on_the_sentence_and_the_seed_but_not_on_its_place() -> None:
    there, here = (
        {(edit.text, edit.kind) for edit in hard_candidates(texts, seed=3)} for texts in (CORPUS, CORPUS[::-1])
    )
    assert there == here
    assert there != {(edit.text, edit.kind) for edit in hard_candidates(CORPUS, seed=4)}


def test_no_edit_is_an_original_and_no_kind_has_more_than_its_share() -> None:
    texts = [*CORPUS, "in oslo the winter was short.", "In Oslo the winter was not long."]
    edits = hard_candidates(texts, per_sentence=3, per_kind=4)
    assert not {edit.text.casefold() for edit in edits} & {text.casefold() for text in texts}
    counts = Counter(edit.kind for edit in edits)
    assert set(counts) == set(Edit) and max(counts.values()) == 4
    assert max(Counter((edit.kind, edit.row) for edit in edits).values()) <= 3
    everything = hard_candidates(texts, per_sentence=3)
    assert set(edits) < set(everything)
    assert all(edit.text != texts[edit.row] for edit in everything)


def test_antonyms_are_other_words() -> None:
    assert len(ANTONYMS) > 300
    assert all(word != opposite and word.islower() and opposite.islower() for word, opposite in ANTONYMS.items())
