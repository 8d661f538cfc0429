"""Foreign encoders: the same vectors as the libraries they come from."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from encoder.models import Pretrained, PretrainedSettings
from encoder.models.heads import Dense, Head, Pooling
from encoder.tokens import Tokens
from mining.errors import InputError
from tests.encoder.fixtures import sentences, write_tiny_xlm_roberta


@pytest.fixture(scope="module")
def xlm_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_xlm_roberta(tmp_path_factory.mktemp("xlmr"))


@torch.inference_mode()
def encode(model: Pretrained, texts: list[str]) -> np.ndarray:
    return model.eval()(model.text.encode(texts).batch()).numpy()


@pytest.mark.parametrize("pooling", ["mean", "cls", "first-last"])
def test_pooling_of_a_plain_folder(xlm_roberta: Path, pooling: str) -> None:
    from transformers import AutoModel, AutoTokenizer

    texts = sentences(5, longest=12)
    ours = encode(Pretrained.load(PretrainedSettings(source=str(xlm_roberta), pooling=pooling)), texts)
    tokenizer, reference = AutoTokenizer.from_pretrained(xlm_roberta), AutoModel.from_pretrained(xlm_roberta).eval()
    for vector, text in zip(ours, texts, strict=True):
        with torch.inference_mode():
            first, *_, last = reference(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        expected = {"mean": last[0].mean(0), "cls": last[0, 0], "first-last": (first + last)[0].mean(0) / 2}[pooling]
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_first_and_last_layer_stay_in_a_checkpoint_and_are_not_exported(xlm_roberta: Path, tmp_path: Path) -> None:
    from encoder import Encoder
    from encoder.exchange import import_encoder

    settings, texts = PretrainedSettings(source=str(xlm_roberta), pooling="first-last"), sentences(5, longest=12)
    imported = import_encoder(str(xlm_roberta), tmp_path / "checkpoint", settings=settings)
    model = Pretrained.load(settings)
    np.testing.assert_allclose(Encoder.load(imported.folder).encode(texts), encode(model, texts), atol=1e-5)
    with pytest.raises(InputError, match="pools the last layer alone"):
        model.write(tmp_path / "exported", weights=True)


def test_sentences_are_cut_to_the_positions_that_roberta_has(xlm_roberta: Path) -> None:
    model = Pretrained.load(PretrainedSettings(source=str(xlm_roberta)))
    assert model.max_tokens == 24  # 26 less padding_idx + 1
    tokens = model.text.encode([" ".join(["cat"] * 100)])
    assert tokens.lengths.tolist() == [24] and tokens.ids[-1] == 2
    assert np.isfinite(encode(model, ["cat " * 100, "", "dog"])).all()


def test_folder_with_dense_and_normalize(xlm_roberta: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    transformer = Transformer(str(xlm_roberta))
    modules = [transformer, Pooling(32, "max"), Dense(32, 6), Normalize()]
    reference = SentenceTransformer(modules=modules, device="cpu")
    reference.save(str(tmp_path / "st"))
    texts = sentences(9, longest=20)
    model = Pretrained.load(PretrainedSettings(source=str(tmp_path / "st")))
    assert model.dim == 6
    np.testing.assert_allclose(encode(model, texts), reference.encode(texts), atol=1e-5)
    model.write(tmp_path / "again", weights=True)
    np.testing.assert_allclose(
        SentenceTransformer(str(tmp_path / "again"), device="cpu").encode(texts), reference.encode(texts), atol=1e-5
    )


def test_only_the_encoder_of_mt5_is_kept(tmp_path: Path, xlm_roberta: Path) -> None:
    from transformers import AutoTokenizer, MT5Config, MT5Model

    config = MT5Config(vocab_size=40, d_model=16, d_kv=4, d_ff=32, num_layers=1, num_heads=4, pad_token_id=1)
    MT5Model(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(xlm_roberta).save_pretrained(tmp_path)
    model = Pretrained.load(PretrainedSettings(source=str(tmp_path)))
    assert model.dim == 16 and not any("decoder" in name for name, _ in model.named_parameters())
    assert np.isfinite(encode(model, ["the cat", "a"])).all()


def test_loading_says_nothing(tmp_path: Path, xlm_roberta: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A head for masked words is of no use here, and a folder need not say its version of transformers."""
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer

    config = AutoConfig.from_pretrained(xlm_roberta)
    AutoModelForMaskedLM.from_config(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(xlm_roberta).save_pretrained(tmp_path)
    entries = json.loads((tmp_path / "config.json").read_text())
    entries.pop("transformers_version", None)
    (tmp_path / "config.json").write_text(json.dumps(entries))
    capfd.readouterr()
    Pretrained.load(PretrainedSettings(source=str(tmp_path)))
    assert capfd.readouterr() == ("", "")


def test_no_token_at_all_gives_zeros(xlm_roberta: Path) -> None:
    model = Pretrained.load(PretrainedSettings(source=str(xlm_roberta))).eval()
    vectors = model(Tokens.from_lists([[], [0, 5, 2]]).batch())
    assert not vectors[0].any() and vectors[1].any() and vectors.isfinite().all()


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([{"type": "sentence_transformers.models.LSTM", "path": ""}], "LSTM is not supported"),
        ([], "no Pooling"),
        ([{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}], "incomplete"),
    ],
)
def test_folders_that_cannot_be_read(tmp_path: Path, modules: list[dict[str, str]], message: str) -> None:
    (tmp_path / "modules.json").write_text(json.dumps([{"type": "Transformer", "path": ""}, *modules]))
    with pytest.raises(InputError, match=message):
        Head.read(tmp_path, weights=True)


def test_a_source_that_is_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for source in ("nobody/nothing", str(tmp_path / "absent" / "folder" / "x")):
        with pytest.raises(InputError, match="neither a local folder nor"):
            Pretrained.load(PretrainedSettings(source=source))
    with pytest.raises(InputError, match="not a model that transformers can load"):
        Pretrained.load(PretrainedSettings(source=str(tmp_path)))


def test_a_backbone_in_a_subfolder(xlm_roberta: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    texts = sentences(5, longest=12)
    folder, inner = tmp_path / "st", tmp_path / "st" / "0_Transformer"
    Pretrained.load(PretrainedSettings(source=str(xlm_roberta), max_tokens=7)).write(folder, weights=True)
    before = encode(Pretrained.load(PretrainedSettings(source=str(folder))), texts)
    inner.mkdir()
    for path in [path for path in folder.iterdir() if path.is_file() and path.name != "modules.json"]:
        path.rename(inner / path.name)
    (inner / "sentence_bert_config.json").rename(inner / "sentence_xlm-roberta_config.json")
    first, *others = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([first | {"path": inner.name}, *others]))
    model = Pretrained.load(PretrainedSettings(source=str(folder)))
    assert model.max_tokens == 7
    np.testing.assert_array_equal(encode(model, texts), before)
    np.testing.assert_allclose(SentenceTransformer(str(folder), device="cpu").encode(texts), before, atol=1e-5)


def test_dense_without_weights(tmp_path: Path) -> None:
    dense = Dense({"in_features": 4, "out_features": 2})
    Head(Pooling(4, ("mean",)), [dense]).write(tmp_path, weights=False)
    with pytest.raises(InputError, match=r"2_Dense/model\.safetensors: no such file"):
        Head.read(tmp_path, weights=True)
