"""The `twinlode` command: one module in `pipelines/commands` for each subcommand, imported when it is asked for.

Command modules import torch, Beam and what needs them inside their functions, so `--help` answers at once.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, TypeVar

import typer
from typer.core import TyperGroup

from mining.errors import InputError
from mining.temporary_files import remove_unfinished
from pipelines.commands.derived import typer_command

# By what people come for: each with its module and what `twinlode --help` says of it.
SECTIONS = {
    "Pairs": {
        "mine": ("mine", "Mine translation pairs from two corpora."),
        "align": ("align", "Align two books, or two folders of documents."),
        "clean": ("clean", "Keep the good pairs of a bitext."),
        "mine-vectors": ("mine_vectors", "Mine pairs from vectors that you have."),
        "demo": ("demo", "See the whole way on real text, explained."),
    },
    "Look": {
        "report": ("report", "Write a mine, demo or loop as one HTML page."),
        "review": ("review", "Judge pairs in the browser, get a threshold."),
        "inspect": ("inspect", "Say what a file or folder is."),
        "plan": ("plan", "Predict what a large mine will cost."),
        "explain": ("explain", "Say more about an error with a code."),
    },
    "Encoders": {
        "train": ("train", "Train an encoder on parallel text."),
        "loop": ("loop", "Mine, train on what was found, mine again."),
        "train-classifier": ("train_classifier", "Train what judges pairs in clean and mine."),
        "negatives": ("negatives", "Write near sentences that are no translations."),
        "eval": ("eval", "Measure encoders on a benchmark."),
        "compare": ("compare", "Train and measure the rows of a table."),
        "export": ("export", "Write an encoder for other libraries."),
        "import": ("import_", "Take an encoder from them."),
    },
    "Stages of mine": {
        "prepare": ("prepare", "Read and clean text."),
        "embed": ("embed", "Make vectors of prepared sentences."),
        "graph": ("graph", "Find the nearest neighbours of two sides."),
    },
}
COMMANDS = {name: module for section in SECTIONS.values() for name, (module, _) in section.items()}


Error = TypeVar("Error", bound=BaseException)


class Commands(TyperGroup):
    """The subcommands by name; only the one that is run is imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"pipelines.commands.{COMMANDS[cmd_name]}").command
        return command if isinstance(command, TyperGroup) else typer_command(cmd_name, command)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """In sections, with one line for each, none of them imported."""
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary) for name, (_, summary) in section.items()])


INTERRUPTED, TERMINATED = 130, 143  # what a shell gives a command that Ctrl-C or SIGTERM ended
_LONGEST = 2000  # characters of a sentence
# What the machine refuses, and no mistake of ours: no room, no permission, a damaged disk, too many open files.
_REFUSALS = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE,
    errno.ENFILE, errno.ENAMETOOLONG, errno.ENOMEM,
}  # fmt: skip
# What torch, Python's threads and SentencePiece's say of it.
_NO_MEMORY = ("can't allocate memory", "can't start new thread", os.strerror(errno.EAGAIN))
_FULL = f"(os error {errno.ENOSPC})"  # of libraries in Rust
_STORES = {"aiobotocore", "aiohttp", "botocore", "gcsfs", "google"}  # libraries that raise errors of their own

app = typer.Typer(
    name="twinlode",
    help="Mine translation pairs from monolingual text, and train the encoders that find them.",
    epilog="`twinlode COMMAND --help` has its options and examples.",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    """Mine translation pairs from monolingual text, and train the encoders that find them."""
    if version:
        from importlib.metadata import version as installed

        print(f"twinlode {installed('twinlode')}")
        raise typer.Exit


class Terminated(KeyboardInterrupt):
    """SIGTERM: ends a command as Ctrl-C does, with its temporary files cleared away."""


def main() -> None:
    """Run the command line; bad input is one sentence on stderr and exit code 2."""
    _end_on_sigterm()
    try:
        app()
    except InputError as error:
        # Libraries that are quoted in it write several lines.
        more = f" [more: twinlode explain {error.code}]" if error.code else ""
        _say(f"{' '.join(str(error).splitlines())}{more}")
        sys.exit(2)
    except BaseException as error:
        cause = _cause(error, KeyboardInterrupt)
        if cause is not None:
            _say("interrupted; run the same command again to continue")
            leave(TERMINATED if isinstance(cause, Terminated) else INTERRUPTED)
        refusal = _refusal(error)
        if refusal is None:
            raise
        _say(f"{refusal}; run the same command again to continue")
        sys.exit(2)
    finally:
        _end_quietly()


def console() -> NoReturn:
    """The program `twinlode`: `main`, and an end at which no thread of a library wakes.

    Threads of Arrow that let go of a Python file while the interpreter is taken down abort the whole process, with exit
    code 134 after all was done. So what Python does at its end is done here, and then the process ends.
    """
    code: int | str | None = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    os._exit(_flushed(code if isinstance(code, int) else int(code is not None)))


def _flushed(code: int) -> int:
    """The exit code, 120 as Python has it where standard output is closed."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return 120
    return code


def _end_quietly() -> None:
    """When all is done, SIGTERM has nothing left to interrupt."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _say(sentence: str) -> None:
    """One sentence on stderr; a value of thousands of characters that it quotes is cut short."""
    if len(sentence) > _LONGEST:
        sentence = f"{sentence[: _LONGEST // 2]} … {sentence[-_LONGEST // 2 :]}"
    print(f"twinlode: {sentence}", file=sys.stderr)


def _end_on_sigterm() -> None:
    own = os.getpid()

    def end(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if os.getpid() != own:  # a worker that was forked
            signal.raise_signal(signal.SIGTERM)
        raise Terminated

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, end)


def _cause(error: BaseException, kind: type[Error]) -> Error | None:
    """The first error of a kind behind this one: Typer makes an exit of Ctrl-C, and Beam an error of its own."""
    return next((one for one in _behind(error) if isinstance(one, kind)), None)


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    """An error and all that led to it."""
    if error is not None:
        yield error
        yield from _behind(error.__cause__)
        yield from _behind(error.__context__)


def _refusal(error: BaseException) -> str | None:
    """What the machine or an object store could not give, in words; None for any other error."""
    if any(type(one).__module__.split(".")[0] in _STORES for one in _behind(error)):
        return f"the object store failed ({' '.join(str(error).splitlines())})"
    if any(isinstance(one, MemoryError) or any(sign in str(one) for sign in _NO_MEMORY) for one in _behind(error)):
        return "there is not enough memory"
    if _FULL in str(error):
        return os.strerror(errno.ENOSPC)
    refused = error if isinstance(error, OSError) and error.errno in _REFUSALS else None
    if refused is None:
        return None
    return f"{f'{refused.filename}: ' if refused.filename else ''}{refused.strerror}"


def leave(code: int) -> NoReturn:
    """End at once: threads of Beam and torch would go on, and say what became of them."""
    remove_unfinished()
    for left in [value for value in gc.get_objects() if type(value) is TemporaryDirectory]:
        left.cleanup()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    console()
