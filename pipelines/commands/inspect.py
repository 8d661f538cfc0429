"""`twinlode inspect`: what a file or folder is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.runners.quiet import quiet_beam

if TYPE_CHECKING:
    from pipelines.inspection.explained_pairs import ExplainedPair


def command(
    path: Annotated[str, typer.Argument(help="A file, folder or URL; for Moses the part before .de and .en.")],
    rows: Annotated[int, typer.Option(help="First rows to show.", min=0, max=1_000_000)] = 5,
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain the first pairs: what speaks for and against each.")
    ] = False,
    src_lang: Annotated[str | None, typer.Option(help="With --explain: source language.")] = None,
    tgt_lang: Annotated[str | None, typer.Option(help="With --explain: target language.")] = None,
    columns: Annotated[
        tuple[str, str] | None, typer.Option(help="With --explain: columns of the texts, as for clean.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(help="With --explain: an encoder with a pair classifier; default: the built-in one.")
    ] = None,
    classifier: Annotated[
        str | None,
        typer.Option(help="With --explain: folder of a pair classifier; default: the encoder's."),
    ] = None,
) -> None:
    """Describe any file or folder of twinlode: what it is, rows, settings, fingerprints, first rows.

    Datasets, encoders (ours, sentence-transformers, Hugging Face), graphs, pairs in every format, vectors, rounds,
    loops, work folders.

    With --explain, the first pairs of a file or of a pairs dataset and why the pair classifier trusts each of them;
    mined pairs with the score that they have. Margins and rivals are those of the file, not of the whole mine.

    \b
    Examples:
      twinlode inspect pairs.work/pairs
      twinlode inspect pairs.tsv --explain --rows 3 --src-lang en --tgt-lang de
    """
    quiet_beam()
    from rich.console import Console
    from rich.text import Text

    from pipelines.commands.console_output import say_notes, show
    from pipelines.inspection import describe
    from pipelines.runners.console_table import show_table

    console = Console()
    if explain:
        from encoder import default
        from encoder.settings import validate_settings
        from pipelines.clean.bitext_rows import BitextSettings
        from pipelines.inspection.explained_pairs import explain_pairs, pairs_file

        file, encoder = pairs_file(path), encoder or str(default.model_folder())
        bitext = {"path": file.url, "src_lang": src_lang, "tgt_lang": tgt_lang, "columns": columns}
        settings, notes = file.with_languages(validate_settings(BitextSettings, bitext, "inspect"))
        for pair in explain_pairs(settings, encoder, rows, classifier):
            console.print(
                Text.assemble((f"line {pair.line}", "bold"), f"\n{pair.source}\n{pair.target}"), soft_wrap=True
            )
            show_table([["what speaks for and against it", "value", "log odds"], *_parts(pair)], console, end=1)
        say_notes([*notes, *file.doubts(encoder, classifier)])
        return
    found = describe(path, rows)
    console.print(Text.assemble((found.what, "bold"), f": {path}"), soft_wrap=True)
    show(None, found.facts)
    if found.rows:
        show_table([list(found.columns), *map(list, found.rows)], console, texts=True)


def _parts(pair: ExplainedPair) -> list[list[str]]:
    """What moves the odds of a pair, what that comes to, and the score that it had."""
    parts = [[part.name, f"{part.value:.2f}", f"{part.log_odds:+.1f}"] for part in pair.parts]
    total = ["all features", "", f"{pair.log_odds:+.1f}"]
    return [*parts, total] if pair.given is None else [*parts, total, ["score in the file", f"{pair.given:.2f}", ""]]
