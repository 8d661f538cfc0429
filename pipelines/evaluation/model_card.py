"""The model card of the default encoder, in the form that Hugging Face reads."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from encoder.cards import markdown_table, write_card
from encoder.default.language_card import Card
from encoder.encoder_card import model_head
from encoder.training.training_settings import TrainSettings

# Corpora by the parts of their paths: what they are, and their licence.
_CORPORA = {
    "tatoeba": ("Tatoeba, short everyday sentences", "CC-BY 2.0"),
    "tatoeba_pivot": ("Tatoeba, translations of translations", "CC-BY 2.0"),
    "europarl7": ("European Parliament, seven languages", "EP reuse policy"),
    "lohelp": ("LibreOffice help", "MPL-2.0"),
    "libreoffice": ("LibreOffice user interface and help", "MPL-2.0 / LGPL"),
    "pydocs": ("Python documentation", "CC0 / PSF"),
    "freebsd": ("FreeBSD documentation", "FreeBSD"),
    "freeciv": ("Freeciv, a game", "GPL"),
    "widelands": ("Widelands, a game", "GPL"),
    "quran": ("translations of the Quran", "CC-BY"),
    "mdn": ("MDN Web Docs", "CC-BY-SA"),
    "k8s": ("Kubernetes documentation", "CC-BY 4.0"),
    "catalogs": ("messages of 600 programs in Debian", "free software licences, GPL and LGPL most of them"),
    "wesnoth": ("The Battle for Wesnoth, a game", "GPL-2+"),
    "mediawiki": ("messages of MediaWiki", "GPL-2+"),
    "names": ("countries, languages, regions and towns: iso-codes, KGeography", "LGPL-2.1+ / GPL-2+"),
    "cldr": ("names of emoji, territories, languages: Unicode CLDR", "Unicode-3.0"),
    "osm": ("names of places of OpenStreetMap's editors", "ISC"),
    "dictionary": ("FreeDict dictionaries", "GPL / CC-BY-SA"),
    "negatives": ("pairs of the above with an edit of the English side (`twinlode negatives`)", "as the above"),
}
_UNKNOWN = ("not described", "unknown: do not ship the encoder")


def corpus_name(path: str) -> str:
    """What a file or glob is called here: by its folder where that is a corpus, else by its own name."""
    name = PurePosixPath(path)
    return name.parent.name if name.parent.name in _CORPORA else name.name.split(".")[0]


def write_model_card(path: Path, card: Card, settings: TrainSettings, note: str) -> None:
    head = model_head(card.trained) | {"license": "apache-2.0"}
    write_card(path, head, _body(card, settings, note) + _languages(card))


def _body(card: Card, settings: TrainSettings, note: str) -> str:
    model = settings.model.model_dump()
    version = card.name.rpartition("/")[2]
    names = dict.fromkeys(corpus_name(corpus.path) for corpus in settings.data.corpora)
    corpora_table = markdown_table(["corpus", "what", "licence"], [(n, *_CORPORA.get(n, _UNKNOWN)) for n in names])
    return f"""# {card.name}

Sentence vectors in {len(card.trained)} languages for mining, cleaning and aligning translations: the encoder that
`twinlode` uses when none is named. Fingerprint `{card.fingerprint}`.

    from encoder import Encoder
    vectors = Encoder.load().encode(["Guten Morgen."], lang="de")

## How it was made
A bag: the mean of {model["dim"]}-dimensional embeddings of subwords, and of hashed pairs of subwords
({model["bigrams"]:,} buckets), words ({model["words"]:,}) and 3- and 4-grams of romanised words
({model["ngrams"]:,}). It knows no word order beyond neighbours. Trained on one CPU core by contrastive
learning with an additive margin and lexical hard negatives (EMS), beside vectors of a teacher (multilingual Universal
Sentence Encoder v3, Apache-2.0) and edits of sentences as hard negatives; first with wider and larger tables, which
this one begins with, then held as product codes. `configs/ems-small.yaml` has all commands; the last is

    python -m pipelines.evaluation.release runs/default --data ../shared/data --out encoder/default --version {version}

{settings.evaluation.share:.0%} of the English sentences, with their translations, were never trained on; vectors of
some of them are the probe pairs in `probes.safetensors`. {note}

{corpora_table}

## Limits
- Text unlike the above (news, speech, medicine) is found less well, and names of rare spelling are missed.
- Negation, numbers and who did what to whom hardly change a vector: look at pairs before you rely on them.
- Languages at the end of the table were learned from messages of programs, names and words alone. A language that is
  not in the table was never trained on; `encoder.default.status("xx")` says what is known of one.
- Traditional Chinese is read as simplified, Arabic and Hebrew without vowel marks, and what is written onto an Arabic
  word (and, the, their) as words of their own.

"""


def write_language_page(path: Path, card: Card) -> None:
    """The same figures as a page of the documentation, with those of languages that it was never trained on."""
    never = [(figure.precision, lang, figure) for lang, figure in card.figures.items() if lang not in card.trained]
    others = ", ".join(f"{lang} {figure.precision:.0f}" for _, lang, figure in sorted(never, reverse=True))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"# Languages of the default encoder\n\n`{card.name}`, by `python -m pipelines.evaluation.release`; how it was "
        "trained: [its model card](../encoder/default/model/README.md).\n\n"
        f"{_languages(card)}\n"
        "`mine` warns of a language that is weak here, or missing: a figure below 60, or of held-out text alone, which "
        "is of the kind that was trained on.\n\n"
        f"## Never trained on\nP@1 on Tatoeba or UDHR: {others}.\n",
        encoding="utf-8",
    )


def _languages(card: Card) -> str:
    rows = []
    for lang, pairs in sorted(card.trained.items(), key=lambda item: -item[1]):
        if lang == "en":
            continue
        figure = card.figures.get(lang)
        told = (f"{figure.precision:.1f}", figure.benchmark, figure.sentences) if figure else ("not measured", "", "")
        rows.append((lang, f"{pairs:,}", *told))
    return f"""## Languages
P@1 with English, both directions, on text that was not trained on.

{markdown_table(["language", "pairs with English", "P@1", "of", "lines"], rows)}
"""
