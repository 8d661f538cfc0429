"""Our text side and model as one sentence-transformers module, for encoders that its own modules cannot express."""

from __future__ import annotations

import shutil
from typing import Any

from sentence_transformers.base.modules.input_module import InputModule

from encoder.checkpoint import load_checkpoint
from encoder.tokens import TokenBatch


class TwinlodeModule(InputModule):
    """A checkpoint folder behind `preprocess` and `forward`; `encode(sentences, lang="zh")` picks the segmentation."""

    save_in_root = False
    forward_kwargs = {"lang"}  # noqa: RUF012 - sentence-transformers lets through what is named here, to both methods

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder
        found = load_checkpoint(folder)
        self.model = found.model
        self.text = found.text
        self.tokenizer = None  # type: ignore[assignment]

    def preprocess(self, inputs: Any, prompt: str | None = None, lang: str | None = None, **_: Any) -> dict[str, Any]:
        tokens = self.text.encode([(prompt or "") + text for text in inputs], lang)
        limit = self.model.max_tokens
        ids, offsets = (tokens.truncate(limit) if limit else tokens).batch()
        return {"input_ids": ids, "offsets": offsets}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        vectors = self.model(TokenBatch(features["input_ids"], features["offsets"]))
        features["sentence_embedding"] = vectors.float()
        return features

    def get_embedding_dimension(self) -> int:
        return self.model.dim

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        shutil.copytree(self.folder, output_path, dirs_exist_ok=True)

    @classmethod
    def load(
        cls,
        model_name_or_path: str,
        subfolder: str = "",
        token: bool | str | None = None,
        cache_folder: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
        init_defaults: dict[str, Any] | None = None,
        **_: Any,
    ) -> TwinlodeModule:
        folder = cls.load_dir_path(model_name_or_path, subfolder, token, cache_folder, revision, local_files_only)
        return cls(str(folder))
