"""A review from the sample to the threshold, and the server that guards it."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mining.errors import InputError
from pipelines.datasets.manifest import read_model
from pipelines.mine.review_result import ReviewResult
from pipelines.report import write_report
from pipelines.review.review_session import Session
from pipelines.review.server import HOST, ReviewServer
from tests.pipelines.works import pairs_of, write_work


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return write_work(tmp_path / "work", pairs_of(400))


def is_right(score: float) -> bool:
    return score > 1.4


def test_marks_become_a_threshold_and_a_new_session_goes_on(work: Path) -> None:
    session = Session(str(work), 100, 0.9)
    sampled = session.sample.sampled
    assert len(sampled) == 100
    per_band = Counter(pair.band for pair in sampled[:50])
    assert max(per_band.values()) - min(per_band.values()) <= 1, "any first part visits all bands"
    for pair in sampled[:60]:
        session.mark(pair.key, "right" if is_right(pair.score) else "wrong")
    again = Session(str(work), 20, 0.9)
    assert again.sample == session.sample, "the sample stays, whatever size is asked for"
    assert again.marks.verdicts() == session.marks.verdicts()
    for pair in sampled[60:]:
        again.mark(pair.key, "right" if is_right(pair.score) else "wrong")
    saved = read_model(str(work / "review.json"), ReviewResult)
    assert saved == again.result
    assert saved is not None and saved.threshold is not None and saved.kept is not None
    # Of the pairs above 1.4 all are right, so 90% is reached where a tenth more is kept.
    assert 1.25 < saved.threshold < 1.4
    assert "estimate by review" in Path(write_report(str(work))).read_text()
    truth = sum(is_right(pair.score) for pair in pairs_of(400)[: saved.kept]) / saved.kept
    assert truth == pytest.approx(0.9, abs=0.06)


def test_a_later_session_wants_what_the_first_did(work: Path) -> None:
    assert Session(str(work), 50).wanted == 0.9
    Session(str(work), 50, 0.95)
    assert Session(str(work), 50).wanted == 0.95


def test_skipped_and_undone_marks_do_not_count(work: Path) -> None:
    session = Session(str(work), 50, 0.9)
    first, second = session.sample.sampled[:2]
    session.mark(first.key, "skip")
    session.mark(second.key, "wrong")
    session.undo()
    assert (session.result.right, session.result.wrong, session.result.skipped) == (0, 0, 1)
    assert session.chart() is None
    session.mark(second.key, "right")
    assert session.chart() is not None


def test_other_pairs_are_not_mixed_in(work: Path, tmp_path: Path) -> None:
    Session(str(work), 50, 0.9)
    other = write_work(tmp_path / "other", pairs_of(30))
    (work / "review").rename(other / "review")
    with pytest.raises(InputError, match="holds a review of other pairs"):
        Session(str(other), 50, 0.9)


def test_pairs_that_were_chosen_again_have_a_review_of_their_own(work: Path) -> None:
    shutil.copytree(work / "pairs", work / "pairs-1a2b3c4d")
    assert Session(str(work), 50).result_url == f"{work}/review.json"
    again = Session(f"{work}/pairs-1a2b3c4d", 50)
    assert again.result_url == f"{work}/pairs-1a2b3c4d/review.json"
    assert again.mine.graph is not None


def test_several_mines_are_reviewed_one_by_one(tmp_path: Path) -> None:
    for name in ("en-de", "en-fr"):
        write_work(tmp_path / "work" / name, pairs_of(20))
    with pytest.raises(InputError, match=r"holds 2 mines; review one of them at a time, for example .*en-de"):
        Session(str(tmp_path), 50, 0.9)


@pytest.fixture
def server(work: Path) -> Iterator[ReviewServer]:
    with ReviewServer(Session(str(work), 50, 0.9), 0) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.shutdown()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_command_serves_until_it_is_stopped(work: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "pipelines.cli", "review", str(work), "--sample", "20"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": os.environ | {"COLUMNS": "300"}}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stderr is not None and process.stdout is not None
        address = next(
            found[1] for line in process.stderr if (found := re.search(r"http://127\.0\.0\.1:(\d+/\S+/)", line))
        )
        port, _, path = address.partition("/")
        connection = http.client.HTTPConnection(HOST, int(port), timeout=60)
        connection.request("GET", f"/{path}")
        data = connection.getresponse().read().decode().partition('id="data">')[2].partition("</script>")[0]
        process.send_signal(number)
        said = process.stdout.read()
    assert json.loads(data)["state"]["result"]["wanted"] == 0.9
    assert process.returncode == 0
    assert "threshold for 90%" in said and "review.json" in said


def ask(server: ReviewServer, method: str, path: str, headers: dict[str, str], body: object = None) -> int:
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=30)
    connection.putrequest(method, path.replace("*", server.secret), skip_host=True)
    data = json.dumps(body).encode()
    for name, value in ({"Content-Length": str(len(data)) if method == "POST" else "0"} | headers).items():
        connection.putheader(name, value)
    connection.endheaders(data if method == "POST" else None)
    return connection.getresponse().status


JSON = {"Content-Type": "application/json"}
REQUESTS = [
    ("GET", "/*/chart", {}, 200),
    ("GET", "/*/nothing", {}, 404),
    ("GET", "/*/../session.py", {}, 403),
    ("GET", "/*/chart", {"Host": "evil.example:{port}"}, 403),
    ("GET", "/*/", {"Host": "127.0.0.1"}, 403),
    ("GET", "/*/chart", {"Origin": "http://evil.example"}, 403),
    ("POST", "/*/mark", JSON, 200),
    ("POST", "/*/mark", JSON | {"Origin": "http://evil.example"}, 403),
    ("POST", "/*/mark", JSON | {"Host": "evil.example"}, 403),
    ("POST", "/*/mark", {"Content-Type": "text/plain"}, 403),
    ("POST", "/*/mark", JSON | {"Content-Length": "-1"}, 403),
    ("POST", "/*/mark", JSON | {"Content-Length": "many"}, 403),
    ("POST", "/*/mark", JSON | {"Content-Length": "1000000000"}, 403),
    ("GET", "/", {}, 403),
    ("GET", "/chart", {}, 403),
    ("GET", "/guessed/chart", {}, 403),
    ("POST", "/mark", JSON, 403),
    ("POST", "/guessed/mark", JSON, 403),
]


@pytest.mark.parametrize(("method", "path", "headers", "status"), REQUESTS)
def test_only_the_own_page_is_answered(
    server: ReviewServer, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    given = {"Host": f"localhost:{server.server_port}"} | headers
    given = {name: value.format(port=server.server_port) for name, value in given.items()}
    mark = {"action": "mark", "pair": server.session.sample.sampled[0].key, "verdict": "right"}
    assert ask(server, method, path, given, mark) == status
    assert bool(server.session.marks.verdicts()) == (method == "POST" and status == 200)


BAD = [
    {"action": "mark", "pair": "unknown", "verdict": "right"},
    {"action": "mark", "pair": "x", "verdict": "maybe"},
    {"action": "want", "precision": 2},
    {"action": "drop"},
    [],
]


@pytest.mark.parametrize("body", BAD, ids=json.dumps)
def test_nonsense_is_refused(server: ReviewServer, body: object) -> None:
    assert ask(server, "POST", "/*/mark", JSON | {"Host": f"localhost:{server.server_port}"}, body) == 400
    assert not server.session.marks.verdicts()


def test_the_server_listens_on_loopback_only_and_a_taken_port_is_one_sentence(server: ReviewServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    with pytest.raises(InputError, match=f"port {server.server_port} cannot be used"):
        ReviewServer(server.session, server.server_port)


def test_slow_clients_are_let_go_and_do_not_keep_others_out(
    server: ReviewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.RequestHandlerClass, "timeout", 0.2)
    idle = [socket.create_connection((HOST, server.server_port), timeout=30) for _ in range(5)]
    idle[0].sendall(b"POST /x/mark HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")  # and never the rest
    assert ask(server, "GET", "/*/chart", {"Host": f"localhost:{server.server_port}"}) == 200
    assert [connection.recv(1000)[:8] for connection in idle[1:]] == [b""] * 4, "closed"
    assert idle[0].recv(1000) == b""
    for connection in idle:
        connection.close()


def test_so_many_clients_and_no_more(server: ReviewServer) -> None:
    several = [socket.create_connection((HOST, server.server_port), timeout=30) for _ in range(64)]
    one_more = socket.create_connection((HOST, server.server_port), timeout=30)
    assert one_more.recv(1) == b"", "closed at once"
    for connection in [*several, one_more]:
        connection.close()


def test_a_client_that_no_thread_can_serve_takes_no_room(server: ReviewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def no_memory(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_memory)
    refused = [socket.create_connection((HOST, server.server_port), timeout=30) for _ in range(70)]
    assert refused[-1].recv(1) == b"", "closed"
    monkeypatch.setattr(threading.Thread, "start", start)
    assert ask(server, "GET", "/*/chart", {"Host": f"localhost:{server.server_port}"}) == 200
    for connection in refused:
        connection.close()
