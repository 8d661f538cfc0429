"""Another page in the same browser, which even knows the whole address of the review, can neither mark nor read."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from pipelines.review.review_session import Session
from pipelines.review.server import ReviewServer
from tests.pipelines.works import pairs_of, write_work

# Each way that a page has to reach another server; `told` is what it learns.
ATTACKS = """async ([url, pair]) => {
  const told = [];
  const change = JSON.stringify({action: "mark", pair, verdict: "wrong"});
  const send = async options => {
    try { const answer = await fetch(url, options); told.push(await answer.text()); } catch (error) {}
  };
  await send({});
  await send({mode: "no-cors"});
  await send({method: "POST", body: change});
  await send({method: "POST", body: change, mode: "no-cors"});
  await send({method: "POST", body: change, headers: {"Content-Type": "application/json"}});
  navigator.sendBeacon(url, new Blob([change], {type: "text/plain"}));
  const form = document.createElement("form");
  Object.assign(form, {action: url, method: "post", enctype: "text/plain", target: "inside"});
  const field = document.createElement("input");
  [field.name, field.value] = [change.slice(0, -1) + ', "x": "', '"}'];
  form.append(field);
  for (const name of ["inside", "framed"]) {
    const frame = document.createElement("iframe");
    Object.assign(frame, {name, src: name === "framed" ? url : "about:blank"});
    document.body.append(frame);
  }
  document.body.append(form);
  form.submit();
  const script = document.createElement("script");
  script.src = url + "review.js";
  document.body.append(script);
  await new Promise(done => setTimeout(done, 1000));
  for (const frame of document.querySelectorAll("iframe"))
    try { told.push(frame.contentDocument?.body?.innerText ?? ""); } catch (error) {}
  return told.join("");
}"""


class _Blank(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><body></body>")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Blank) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_another_page_can_neither_mark_nor_read(browser: Browser, elsewhere: str, tmp_path: Path, host: str) -> None:
    work = str(write_work(tmp_path / "work", pairs_of(50)))
    with ReviewServer(Session(work, 10, 0.8), 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        page = browser.new_page()
        page.goto(elsewhere)
        told = page.evaluate(ATTACKS, [server.url.replace("127.0.0.1", host), server.session.sample.sampled[0].key])
        page.close()
        assert "sentence number" not in told
        assert server.session.marks.verdicts() == {}
        server.shutdown()
