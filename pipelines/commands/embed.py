"""`twinlode embed`: a dataset of sentences to a dataset of vectors, or lines of text to rows of vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.commands.derived import GivenOptions, key, validated, with_settings
from pipelines.commands.options import RunnerOption, RunnerSetOption
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.runners.quiet import quiet_beam

_KEYS = ("encoder", "dtype", "compute_dtype", "device", "threads", "trust_remote_code")
OPTIONS = {name: key(name) for name in _KEYS}


@with_settings(EmbedSettings, OPTIONS, example="dtype=float16")
def command(
    sentences: Annotated[
        str, typer.Argument(help="A sentences dataset, made by prepare; or lines of text: a file, or - for stdin.")
    ],
    out: Annotated[
        str,
        typer.Option("--out", "-o", help="Folder (any fsspec URL) of the vectors; of lines a .npy, or - for stdout."),
    ],
    lang: Annotated[str | None, typer.Option(help="Language of lines of text.")] = None,
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
    *,
    chosen: GivenOptions,
) -> None:
    """Embed prepared sentences; finished shards are not made again. Or embed lines of text, each a row of an array.

    \b
    Examples:
      twinlode embed work/en --out work/en-vectors
      twinlode embed en.txt --lang en -o en.npy
    """
    quiet_beam()
    from mining.errors import InputError
    from pipelines.commands.places import require_folder
    from pipelines.commands.prepare import summarise
    from pipelines.commands.standard_streams import STANDARD
    from pipelines.embed.vector_stage import embed
    from pipelines.runners.runner import hints_of, load_runner, require_reachable

    where = load_runner(runner, runner_set or [])
    chosen |= {"sentences": sentences, "out": out} | hints_of(where)._asdict()
    settings = validated(EmbedSettings, OPTIONS, chosen.tree(), "embed")
    if sentences == STANDARD or Path(sentences).is_file():
        if lang is None:
            raise InputError(f"{sentences}: lines of text need --lang, which tells how their words are cut")
        _embed_lines(settings, lang)
        return
    require_folder(out)
    require_reachable(where, [sentences, settings.encoder, out])
    summarise(embed(settings, where, quiet=False))


def _embed_lines(settings: EmbedSettings, lang: str) -> None:
    from encoder import Encoder
    from mining.errors import InputError
    from mining.files import iterate_lines
    from pipelines.commands.console_output import say_notes, show
    from pipelines.commands.encoder_figures import encoder_row, warnings
    from pipelines.commands.places import check_places
    from pipelines.commands.standard_streams import keep_input, output_file
    from pipelines.embed.line_vectors import write_line_vectors

    with output_file(settings.out, "vectors.npy") as output:
        if not output.path.endswith(".npy"):
            raise InputError(f"--out {output.path}: vectors of lines go into a .npy file, or to standard output (-)")
        source = str(keep_input([settings.sentences], Path(output.scratch))[0])
        check_places([output.path], [source])
        encoder = Encoder.load(
            settings.encoder,
            settings.device,
            settings.threads,
            compute_dtype=settings.compute_dtype,
            trust_remote_code=settings.trust_remote_code,
        )
        rows = write_line_vectors(output.path, iterate_lines(source), lang, encoder)
        say_notes(warnings(settings.encoder, [lang]))
        about = [encoder_row(settings.encoder, [lang]), ("dimensions", f"{encoder.dim}"), ("lines", f"{rows:,}")]
        show("embedded", about, error=output.is_standard)
