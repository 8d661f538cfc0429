"""Whether candidates are scored again, and by which pair classifier."""

from __future__ import annotations

import json

import xxhash

from encoder.checkpoint import FINGERPRINT
from mining.errors import InputError
from mining.paths import exists, open_url
from mining.retrieval import Retrieval
from mining.scoring.classifier import ABOUT, FOLDER
from pipelines.mine.mine_settings import JobSettings, RescoreSettings, Rescoring


def rescoring(settings: JobSettings) -> RescoreSettings | None:
    """How a job scores its candidates again, or None: `auto` does where the encoder has a classifier of its own.

    A threshold that was given as a number is a margin, so `auto` leaves margins alone then.
    """
    if not _wants_rescoring(settings):
        if settings.classifier is not None:
            raise InputError(
                "--classifier is for candidates that are scored again: say --rescore on, and a --threshold is a score "
                "of the classifier"
            )
        return None
    return rescoring_of(settings.rescore, settings.encoder, settings.retrieval, settings.threads, settings.classifier)


def rescoring_of(
    asked: Rescoring,
    encoder: str,
    retrieval: Retrieval = Retrieval.max,
    threads: int | None = None,
    classifier: str | None = None,
) -> RescoreSettings | None:
    """By a classifier, that of the encoder by default, where that is wanted and can be done."""
    if asked == "off":
        return None
    found = rescoring_by(encoder, retrieval, threads, classifier)
    if isinstance(found, RescoreSettings):
        return found
    if asked == "on" or classifier is not None:
        raise InputError(f"{'--rescore on' if classifier is None else '--classifier'}: {found}")
    return None


def _wants_rescoring(settings: JobSettings) -> bool:
    if settings.rescore == "auto" and settings.threshold.at_least is not None:
        return False  # it was meant for margins
    return settings.rescore != "off"


def may_rescore(settings: JobSettings) -> bool:
    """Whether there will be a use for the encoder when the graph is there."""
    folder = _folder_of(settings.classifier, settings.encoder)
    return _wants_rescoring(settings) and not _unfit(folder, settings.encoder)


def _folder_of(classifier: str | None, encoder: str) -> str:
    return (classifier or f"{encoder.rstrip('/')}/{FOLDER}").rstrip("/")


def rescoring_by(
    encoder: str, retrieval: Retrieval, threads: int | None, classifier: str | None = None
) -> RescoreSettings | str:
    """How a classifier, that of the encoder by default, scores candidates, or why it cannot."""
    folder = _folder_of(classifier, encoder)
    if reason := _unfit(folder, encoder):
        return reason
    if retrieval != Retrieval.max:
        return "candidates that are scored again are matched one to one: leave out --retrieval"
    version = xxhash.xxh3_64_hexdigest(_about(folder))
    return RescoreSettings(encoder=encoder, classifier=folder, version=version, threads=threads)


def _unfit(folder: str, encoder: str) -> str:
    """Why an encoder's classifier cannot score its candidates, or nothing."""
    if not exists(f"{folder}/{ABOUT}"):
        return f"{folder.removesuffix(f'/{FOLDER}')} has no pair classifier; make one with train-classifier"
    try:
        made_for = json.loads(_about(folder)).get("encoder")
    except ValueError:
        return f"{folder}/{ABOUT} is damaged; train the classifier again"
    if exists(f"{encoder}/{FINGERPRINT}"):
        with open_url(f"{encoder}/{FINGERPRINT}") as stream:
            fingerprint = stream.read().decode().strip()
        if made_for != fingerprint:
            return (
                f"the pair classifier in {folder} is of another encoder ({made_for}, not {fingerprint}); train it again"
            )
    return ""


def _about(folder: str) -> bytes:
    with open_url(f"{folder}/{ABOUT}") as stream:
        return bytes(stream.read())
