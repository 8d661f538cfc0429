"""The command line as a whole: how it ends."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import pytest
import typer

from mining.errors import InputError
from pipelines import cli


def interrupted() -> NoReturn:
    raise KeyboardInterrupt


def interrupted_in_beam() -> NoReturn:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise RuntimeError("[while running 'Embed']") from None


def bad_input() -> NoReturn:
    raise InputError("a.txt, line 3: bad")


def run(monkeypatch: pytest.MonkeyPatch, command: object) -> int:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(command)  # type: ignore[arg-type]
    monkeypatch.setattr(cli, "app", lambda: app([]))
    monkeypatch.setattr(cli, "leave", lambda code: (_ for _ in ()).throw(SystemExit(code)))
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(str(end.value.code))


@pytest.mark.parametrize("command", [interrupted, interrupted_in_beam])
def test_ctrl_c_is_one_sentence_and_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: object
) -> None:
    assert run(monkeypatch, command) == 130
    assert capsys.readouterr().err == "twinlode: interrupted; run the same command again to continue\n"


def test_bad_input_is_one_sentence_and_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, bad_input) == 2
    assert capsys.readouterr().err == "twinlode: a.txt, line 3: bad\n"


def terminated() -> NoReturn:
    os.kill(os.getpid(), signal.SIGTERM)
    raise AssertionError("the signal comes first")


def test_sigterm_ends_a_command_as_ctrl_c_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert run(monkeypatch, terminated) == 143
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().err == "twinlode: interrupted; run the same command again to continue\n"


def full_disk() -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "work/a.npy")


def no_memory() -> NoReturn:
    raise MemoryError("Unable to allocate 3 TiB")


def no_memory_in_beam() -> NoReturn:
    raise RuntimeError("Unable to translate") from MemoryError()


def no_thread() -> NoReturn:
    raise RuntimeError("can't start new thread")


def no_thread_in_sentencepiece() -> NoReturn:
    raise RuntimeError("Resource temporarily unavailable")


def full_disk_in_rust() -> NoReturn:
    raise Exception("No space left on device (os error 28)")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (full_disk, "work/a.npy: No space left on device"),
        (full_disk_in_rust, "No space left on device"),
        (no_memory, "there is not enough memory"),
        (no_memory_in_beam, "there is not enough memory"),
        (no_thread, "there is not enough memory"),
        (no_thread_in_sentencepiece, "there is not enough memory"),
    ],
)
def test_what_the_machine_refuses_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: object, said: str
) -> None:
    assert run(monkeypatch, command) == 2
    assert capsys.readouterr().err == f"twinlode: {said}; run the same command again to continue\n"


def test_a_mistake_of_ours_stays_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistake() -> NoReturn:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "ours")

    with pytest.raises(FileNotFoundError):
        run(monkeypatch, mistake)


def test_when_all_is_done_sigterm_has_nothing_to_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert run(monkeypatch, bad_input) == 2
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_interrupted_command_leaves_no_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = TemporaryDirectory()
    monkeypatch.setattr(cli.gc, "get_objects", lambda: [folder, "another object"])
    monkeypatch.setattr(cli.os, "_exit", lambda code: (_ for _ in ()).throw(SystemExit(code)))
    with pytest.raises(SystemExit):
        cli.leave(130)
    assert not Path(folder.name).exists()


@pytest.mark.parametrize(
    ("body", "code", "error"),
    [
        ("pass", 0, ""),
        ("raise typer.Exit(3)", 3, ""),
        ("raise InputError('a.txt, line 3: bad')", 2, "twinlode: a.txt, line 3: bad"),
        ("sys.exit('no such thing')", 1, "no such thing"),
        ("raise ZeroDivisionError('ours')", 1, "ZeroDivisionError: ours"),
    ],
)
def test_the_program_ends_as_python_does(body: str, code: int, error: str) -> None:
    program = f"""
import atexit, sys, threading, time, typer
from mining.errors import InputError
from pipelines import cli

def command():
    atexit.register(print, "exit function")
    threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()
    {body}

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(command)
cli.app = lambda: app([])
cli.console()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == code
    assert done.stdout.split("\n") == ["thread", "exit function", ""]
    assert (done.stderr.strip().splitlines() or [""])[-1] == error


def test_the_program_says_so_where_nobody_reads_its_output() -> None:
    program = "from pipelines import cli; cli.app = lambda: print('pairs'); cli.console()"
    reading, writing = os.pipe()
    os.close(reading)
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    done = subprocess.run([sys.executable, "-c", program], env=buffered, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert done.returncode == 120
