"""Settings of cleaning a bitext. Nothing heavy is imported: the command derives options from them."""

from __future__ import annotations

from pydantic import Field

from encoder.settings import Settings
from mining.filters import FilterSettings
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.embed.embed_settings import default_encoder

CHUNK = 8192  # rows: their graph is a second's work, and neighbours enough for a margin
FILTERS = FilterSettings(repeated_target=None)  # a bitext may repeat a target


class CleanSettings(Settings):
    """Everything that decides which pairs stay."""

    bitext: BitextSettings
    encoder: str = Field(
        default_factory=default_encoder,
        description="encoder: a folder or URL. Default: the one that comes with twinlode",
    )
    classifier: str | None = Field(None, description="folder of a pair classifier. Default: the one in --encoder")
    work: str = Field(description="folder (or URL) of the chunks")
    precision: float = Field(0.95, gt=0, lt=1, description="estimated share of translations among what is kept")
    filters: FilterSettings = FILTERS
    seed_pairs: BitextSettings | None = Field(None, description="known translations, for a lexicon and as probes")
    explain: bool = Field(False, description="in --rejected, say what speaks against a pair")
    rows: int = Field(CHUNK, ge=2, description="rows of a chunk")

    @property
    def seed(self) -> BitextSettings | None:
        """The known translations, in the languages of the bitext where they name none."""
        seed, bitext = self.seed_pairs, self.bitext
        if seed is None:
            return None
        langs = {"src_lang": seed.src_lang or bitext.src_lang, "tgt_lang": seed.tgt_lang or bitext.tgt_lang}
        return seed.model_copy(update=langs)
