"""The page of a review, served to this machine only.

A web page of somebody else must not be able to read pairs or set marks through the browser: the server listens on the
loopback address, answers only requests that name it as their host (a foreign name that resolves here, DNS rebinding, is
refused), and takes changes only as JSON from its own page. Nor must another user of this machine: every path begins
with a secret that only the printed address has. A client that sends nothing is let go.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mining.errors import InputError
from pipelines.report.page import asset, render, script_json, vega_bundle
from pipelines.review.marks import Verdict
from pipelines.review.review_session import Session

HOST = "127.0.0.1"
_MOST_BYTES = 10_000
_MOST_CLIENTS = 64  # at a time: a browser opens six
_PATIENCE = 30.0  # seconds for a request to arrive
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class MarkRequest(BaseModel):
    """What the page sends on a key press."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["mark", "undo", "want"]
    pair: str = ""
    verdict: Verdict = "skip"
    precision: float = Field(0.9, gt=0, le=1)


class ReviewServer(ThreadingHTTPServer):
    """One review; port 0 takes any that is free."""

    daemon_threads = True

    def __init__(self, session: Session, port: int) -> None:
        self.session, self.secret = session, secrets.token_urlsafe(16)
        self._room = threading.BoundedSemaphore(_MOST_CLIENTS)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise InputError(f"port {port} cannot be used ({error.strerror}); give another --port, or 0") from None
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/{self.secret}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no memory for another thread
            self._room.release()
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A tab that is closed in the middle of an answer is nobody's fault."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE

    def do_GET(self) -> None:
        if self._is_foreign():
            return self._refuse("this is not the whole address of the review, which its command has printed")
        session, name = self.server.session, self.path.rpartition("/")[2]
        if name == "":
            return self._send(HTTPStatus.OK, "text/html", _page(session))
        if name == "chart":
            return self._json(session.chart())
        if name == "vega.js":
            return self._send(HTTPStatus.OK, "text/javascript", vega_bundle())
        if name in ("charts.js", "review.js"):
            script = asset("charts.js") if name == "charts.js" else _own("review.js")
            return self._send(HTTPStatus.OK, "text/javascript", script)
        return self._send(HTTPStatus.NOT_FOUND, "text/plain", "there is no such page")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            self.close_connection = True
            return self._refuse(f"changes are at most {_MOST_BYTES} bytes long, and say how long")
        body = self.rfile.read(int(length))
        if self._is_foreign():
            return self._refuse("changes are taken from the page of the review only")
        if self.headers.get("Content-Type", "").split(";")[0].strip() != "application/json":
            return self._refuse("changes are taken as JSON only")
        try:
            self._act(MarkRequest.model_validate_json(body))
        except (ValidationError, InputError) as error:
            return self._send(HTTPStatus.BAD_REQUEST, "text/plain", str(error).splitlines()[0])
        return self._json(self.server.session.state())

    def _act(self, request: MarkRequest) -> None:
        session = self.server.session
        if request.action == "mark":
            session.mark(request.pair, request.verdict)
        elif request.action == "undo":
            session.undo()
        else:
            session.want(request.precision)

    def _is_foreign(self) -> bool:
        origin = self.headers.get("Origin")
        own = {f"http://{host}" for host in self.server.hosts}
        given = self.path.rpartition("/")[0].encode("utf-8", "replace")
        if not compare_digest(given, f"/{self.server.secret}".encode()):
            return True
        return self.headers.get("Host") not in self.server.hosts or (origin is not None and origin not in own)

    def _refuse(self, why: str) -> None:
        self._send(HTTPStatus.FORBIDDEN, "text/plain", why)

    def _json(self, value: Any) -> None:
        self._send(HTTPStatus.OK, "application/json", json.dumps(value, ensure_ascii=False, allow_nan=False))

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        data = text.encode()
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(data)),
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """The terminal is for the command."""


def _page(session: Session) -> str:
    sample = session.sample
    pairs = [pair.model_dump(include={"key", "src", "tgt"}) for pair in sample.sampled]
    data = {"langs": sample.langs, "pairs": pairs, "state": session.state()}
    floor = session.mine.threshold
    return render(
        _own("review.html.j2"),
        workdir=session.mine.folder,
        data=script_json(data),
        result_url=session.result_url,
        aligned="alignment" in session.mine.pairs.manifest.request.configuration,
        total=sum(sample.counts),
        floor=f"{floor:.3f}" if floor is not None else None,
    )


def _own(name: str) -> str:
    return files("pipelines.review").joinpath(name).read_text("utf-8")
