"""Equation 2 of MPCL, its control and its options."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from encoder.objectives.mpcl import Mpcl, MpclSettings, disjoint_pairs, first_positives
from tests.encoder.objectives.batches import DIM, FACTS, make_batch

GROUPS = [0, 1, 2, 0, 0, 1, 2, 2]  # anchors first; three, two and three sentences


def literal(
    vectors: Tensor, anchors: list[int], positives: dict[int, list[int]], ignored: set[tuple[int, int]], minmax: bool
) -> Tensor:
    losses = []
    for i in anchors:
        others = [j for j in range(len(vectors)) if j != i and (i, j) not in ignored]
        similarity = {j: functional.cosine_similarity(vectors[i], vectors[j], dim=0) for j in others}
        if minmax:
            low, high = min(similarity.values()), max(similarity.values())
            similarity = {j: 2 * (value - low) / (high - low) - 1 for j, value in similarity.items()}
        exponential = {j: (value / 0.05).exp() for j, value in similarity.items()}
        losses.append(-(sum(exponential[j] for j in positives[i]) / sum(exponential.values())).log())
    return torch.stack(losses).mean()


def members(group: list[int], i: int) -> list[int]:
    return [j for j, g in enumerate(group) if g == group[i] and j != i]


def check(settings: MpclSettings, batch_of: dict, expected_of: dict, progress: float = 0.5) -> None:
    torch.manual_seed(0)
    batch = make_batch(**batch_of)
    vectors = torch.randn(batch.sentences, DIM, requires_grad=True)
    objective = Mpcl(settings, FACTS)
    objective.begin(round(1000 * progress), progress)
    ours = objective.loss(vectors, batch, progress).total
    expected = literal(vectors, minmax=bool(settings.minmax), **expected_of)
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=1e-4)
    gradients = (torch.autograd.grad(loss, vectors)[0] for loss in (ours, expected))
    torch.testing.assert_close(*gradients, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("minmax", [False, True])
@pytest.mark.parametrize("anchors", ["one", "all"])
def test_loss_and_gradient_are_equation_2(minmax: bool, anchors: str) -> None:
    which = list(range(8 if anchors == "all" else 3))
    check(
        MpclSettings(minmax=minmax, anchors=anchors),
        {"example": GROUPS},
        {"anchors": which, "positives": {i: members(GROUPS, i) for i in which}, "ignored": set()},
    )


def test_the_same_meaning_in_another_group_is_no_negative() -> None:
    ignored = {(i, j) for i in range(3) for j in range(8) if {GROUPS[i], GROUPS[j]} == {0, 2}}
    check(
        MpclSettings(minmax=False),
        {"example": GROUPS, "meaning": [7 if g in (0, 2) else 8 for g in GROUPS]},
        {"anchors": [0, 1, 2], "positives": {i: members(GROUPS, i) for i in range(3)}, "ignored": ignored},
    )


def test_single_is_equation_1_on_disjoint_pairs_of_the_same_groups() -> None:
    first, second = disjoint_pairs(torch.tensor(GROUPS))
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 3), (1, 5), (2, 6)]
    ignored = {(0, 4), (2, 7)}  # the third sentence of a group is neither positive nor negative
    check(
        MpclSettings(minmax=False, single=True),
        {"example": GROUPS},
        {"anchors": [0, 1, 2], "positives": {0: [3], 1: [5], 2: [6]}, "ignored": ignored},
    )
    four = torch.tensor([0, 1, 0, 0, 0, 1])
    pairs = set(zip(*(rows.tolist() for rows in disjoint_pairs(four)), strict=True))
    assert pairs == {(0, 2), (3, 4), (1, 5)}


@pytest.mark.parametrize("progress", [0.1, 0.5])
@pytest.mark.parametrize("warmup", [0.3, 300])
def test_warm_up_has_one_positive_and_its_own_rate(progress: float, warmup: float) -> None:
    assert [rows.tolist() for rows in first_positives(torch.tensor(GROUPS), 3)] == [[0, 1, 2], [3, 5, 6]]
    warm = progress < 0.3
    settings = MpclSettings(minmax=False, warmup=warmup, warmup_rate=2)
    assert Mpcl(settings, FACTS).begin(round(1000 * progress), progress) == (2 if warm else 1)
    check(
        settings,
        {"example": GROUPS},
        {
            "anchors": [0, 1, 2],
            "positives": {0: [3], 1: [5], 2: [6]} if warm else {i: members(GROUPS, i) for i in range(3)},
            "ignored": {(0, 4), (2, 7)} if warm else set(),
        },
        progress,
    )


def test_the_control_warms_up_by_its_rate_alone() -> None:
    objective = Mpcl(MpclSettings(single=True, warmup=300, warmup_rate=2), FACTS)
    batch, vectors = make_batch(GROUPS), torch.randn(8, DIM)
    rates, losses = [], []
    for step in (299, 300):
        rates.append(objective.begin(step, step / 1000))
        losses.append(float(objective.loss(vectors, batch, step / 1000).total))
    assert rates == [2, 1] and losses[0] == losses[1]


def test_one_positive_has_no_min_max_unless_asked_for() -> None:
    batch, vectors = make_batch(GROUPS), torch.randn(8, DIM)
    losses = {
        minmax: float(Mpcl(MpclSettings(minmax=minmax, single=True), FACTS).loss(vectors, batch, 0.0).total)
        for minmax in (None, False, True)
    }
    assert losses[None] == losses[False] != losses[True]


def test_hard_negatives_are_candidates_of_everybody() -> None:
    example = [0, 1, 0, 0, 1, 0, 1]  # the last two contradict the first two
    check(
        MpclSettings(minmax=False, hard_negatives=True),
        {"example": example, "meaning": list(range(7))},
        {"anchors": [0, 1], "positives": {0: [2, 3], 1: [4]}, "ignored": set()},
    )


def test_group_order_does_not_matter() -> None:
    torch.manual_seed(2)
    objective = Mpcl(MpclSettings(anchors="all"), FACTS)
    vectors = torch.randn(8, DIM)
    one = objective.loss(vectors, make_batch(GROUPS), 0.0)
    order = torch.tensor([3, 5, 7, 4, 0, 1, 6, 2])  # other anchors, positives in another order
    renamed = [[1, 2, 0][GROUPS[i]] for i in order]
    other = objective.loss(vectors[order], make_batch(renamed), 0.0)
    torch.testing.assert_close(one.total, other.total)


def test_shape_follows_the_settings() -> None:
    assert Mpcl(MpclSettings(positives=3), FACTS).shape == "groups"
    assert Mpcl(MpclSettings(hard_negatives=True), FACTS).shape == "triples"
    with pytest.raises(ValueError, match="single is a control"):
        MpclSettings(single=True, anchors="all")
