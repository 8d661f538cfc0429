"""What an encoder knows of each language, with the figures that say so."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from encoder.languages import canonical
from mining.errors import InputError

CARD = "card.json"
Level = Literal["known", "weak", "unknown"]
_WEAK = 60.0  # below this P@1 a language is known badly


class Figure(BaseModel):
    """P@1 in percent, mean of both directions with English, on text that was not trained on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    benchmark: Literal["Tatoeba", "UDHR", "held-out"]
    precision: float
    sentences: int


class Card(BaseModel):
    """`card.json`; `trained` are pairs with English by language, 0 for English itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    fingerprint: str
    files: dict[str, str]  # SHA-256 of every file beside it
    trained: dict[str, int]
    figures: dict[str, Figure]

    def status(self, lang: str) -> Status:
        """English counts as known: every figure is one with English."""
        code = canonical(lang)
        figure = self.figures.get(code)
        if code not in self.trained:
            return Status(code, "unknown", figure, self.name)
        if code == "en":
            return Status(code, "known", None, self.name)
        # text like what it was trained on says little about other text
        weak = figure is None or figure.benchmark == "held-out" or figure.precision < _WEAK
        return Status(code, "weak" if weak else "known", figure, self.name)


class Status(NamedTuple):
    """How well the encoder `name` knows a language."""

    lang: str
    level: Level
    figure: Figure | None
    name: str

    @property
    def warning(self) -> str | None:
        """One sentence, for a language that is not known well."""
        measured = f"{self.figure.benchmark} P@1 {self.figure.precision:.0f}%" if self.figure else "not measured"
        if self.level == "unknown":
            return f"{self.name} was never trained on {self.lang} ({measured}): expect few right pairs"
        if self.level == "weak":
            return f"{self.name} knows {self.lang} badly ({measured}): look at the pairs before you use them"
        return None


def read_card(root: Path) -> Card:
    """The card in the folder `root`."""
    path = root / CARD
    try:
        return Card.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path} is missing; install twinlode again") from None
    except ValidationError as error:
        raise InputError(f"{path}: not a card of an encoder ({error.errors()[0]['msg']})") from None
