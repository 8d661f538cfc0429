"""Whether candidates are scored again, and by which pair classifier."""

from __future__ import annotations

import xxhash

from encoder.checkpoint import FINGERPRINT
from mining.errors import InputError
from mining.paths import exists, open_url
from mining.retrieval import Retrieval
from mining.scoring.classifier import ABOUT, FOLDER, is_classifier, load_classifier
from pipelines.mine.mine_settings import JobSettings, RescoreSettings, Rescoring


def rescoring(settings: JobSettings) -> RescoreSettings | None:
    """How a job scores its candidates again, or None: `auto` does where the encoder has a classifier of its own.

    A threshold that was given as a number is a margin, so `auto` leaves margins alone then. Ask before any text is
    prepared: what cannot be done, or a damaged classifier, is refused here.
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


def require_fit(rescore: RescoreSettings | None, fingerprint: str) -> None:
    """Refuse a classifier of other vectors also where no file tells the fingerprint of the encoder."""
    if rescore is not None and (reason := _of_another(rescore.classifier, fingerprint)):
        raise InputError(reason)


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
    with open_url(f"{folder}/{ABOUT}") as stream:
        version = xxhash.xxh3_64_hexdigest(stream.read())
    return RescoreSettings(encoder=encoder, classifier=folder, version=version, threads=threads)


def _unfit(folder: str, encoder: str) -> str:
    """Why an encoder's classifier cannot score its candidates, or nothing; one that cannot be read is an error."""
    if not is_classifier(folder):
        return f"{folder.removesuffix(f'/{FOLDER}')} has no pair classifier; make one with train-classifier"
    if not exists(f"{encoder}/{FINGERPRINT}"):  # of Hugging Face, and not known before it is loaded
        load_classifier(folder)
        return ""
    with open_url(f"{encoder}/{FINGERPRINT}") as stream:
        return _of_another(folder, stream.read().decode().strip())


def _of_another(folder: str, fingerprint: str) -> str:
    made_for = load_classifier(folder).encoder
    if made_for == fingerprint:
        return ""
    return f"the pair classifier in {folder} is of another encoder ({made_for}, not {fingerprint}); train it again"
