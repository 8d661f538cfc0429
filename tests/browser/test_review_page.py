"""The review in a browser: keys mark, marks are on disk at once and survive a reload."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from pipelines.datasets.manifest import read_model
from pipelines.mine.review_result import ReviewResult
from pipelines.review.review_session import Session
from pipelines.review.server import ReviewServer
from tests.browser.conftest import Watched, watch
from tests.pipelines.report.test_report import HOSTILE
from tests.pipelines.works import pairs_of, write_work


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ReviewServer]:
    work = write_work(tmp_path / "work", [*HOSTILE, *pairs_of(200)])
    with ReviewServer(Session(str(work), 40, 0.8), 0) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def watched(server: ReviewServer, browser: Browser) -> Iterator[Watched]:
    """Closed before the server, which would otherwise be asked for a last chart when it has gone."""
    yield from watch(browser)


def lines(server: ReviewServer) -> list[str]:
    return server.session.marks.path.read_text().splitlines()


def test_keys_mark_and_undo_and_a_reload_keeps_the_marks(watched: Watched, server: ReviewServer) -> None:
    page, sampled = watched.page, server.session.sample.sampled
    page.goto(server.url)
    left = page.locator(".left")
    expect(left).to_have_text("0 of 40")
    for number, key in enumerate("yyns", 1):
        assert page.locator("#src").text_content() == sampled[number - 1].src
        page.keyboard.press(key)
        expect(left).to_have_text(f"{number} of 40")
    expect(page.locator("#said")).to_contain_text("2 right, 1 wrong, 1 skipped")
    assert len(lines(server)) == 4
    page.keyboard.press("u")
    expect(left).to_have_text("3 of 40")
    assert page.locator("#src").text_content() == sampled[3].src
    page.reload()
    expect(left).to_have_text("3 of 40")
    expect(page.locator("#said")).to_contain_text("2 right, 1 wrong, 0 skipped")
    assert server.session.marks.verdicts() == {
        pair.key: verdict for pair, verdict in zip(sampled, ("right", "right", "wrong"), strict=False)
    }
    assert all(url.startswith(server.url) for url in watched.requests)


def test_quick_keys_are_all_kept_and_end_in_a_threshold(watched: Watched, server: ReviewServer) -> None:
    page, session = watched.page, server.session
    page.goto(server.url)
    for pair in session.sample.sampled:
        page.keyboard.press("y" if pair.score > 1.3 else "n")
    expect(page.locator(".left")).to_have_text("40 of 40")
    expect(page.locator("#src")).to_have_text("All pairs are marked.")
    right = sum(pair.score > 1.3 for pair in session.sample.sampled)
    expect(page.locator("#said")).to_contain_text(f"{right} right, {40 - right} wrong")
    marks = page.locator("#chart svg .mark-group path")
    expect(marks.first).to_be_attached()
    saved = read_model(session.result_url, ReviewResult)
    assert saved is not None and saved.threshold is not None
    expect(page.locator("#threshold")).to_have_text(f"{saved.threshold:.4f}")
    page.get_by_label("for a precision of").fill("99")
    page.keyboard.press("Enter")
    expect(page.locator("#threshold")).not_to_have_text(f"{saved.threshold:.4f}")
    again = read_model(session.result_url, ReviewResult)
    assert again is not None and again.wanted == 0.99 and (again.threshold or 2) > saved.threshold


def test_quick_keys_after_an_undo_mark_what_came_back(watched: Watched, server: ReviewServer) -> None:
    page, sampled = watched.page, server.session.sample.sampled
    page.goto(server.url)
    expect(page.locator(".left")).to_have_text("0 of 40")
    page.evaluate(
        "for (const key of 'yyunn') document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
    )
    expect(page.locator(".left")).to_have_text("3 of 40")
    expect(page.locator("#said")).to_contain_text("1 right, 2 wrong, 0 skipped")
    expected = zip(sampled, ("right", "wrong", "wrong"), strict=False)
    assert server.session.marks.verdicts() == {pair.key: verdict for pair, verdict in expected}


def test_hostile_texts_are_texts(watched: Watched, server: ReviewServer) -> None:
    page, sampled = watched.page, server.session.sample.sampled
    hostile = {pair.src: pair.tgt for pair in HOSTILE}
    page.goto(server.url)
    seen = 0
    for pair in sampled:
        assert page.locator("#src").text_content() == pair.src
        seen += hostile.get(pair.src) == page.locator("#tgt").text_content()
        page.keyboard.press("s")
    assert page.evaluate("window.broken") is None
    assert seen == sum(pair.src in hostile for pair in sampled) > 0


def test_the_first_key_marks_what_is_not_marked_yet(watched: Watched, server: ReviewServer) -> None:
    """On a slow machine, too: from the moment a sentence is to be seen, whatever else has still to be loaded."""
    page, sampled = watched.page, server.session.sample.sampled
    for pair in sampled[:3]:
        server.session.mark(pair.key, "right")
    held: list[Route] = []

    def hold(route: Route) -> None:
        needed = route.request.url in {f"{server.url}{name}" for name in ("", "charts.js", "review.js", "mark")}
        route.continue_() if needed else held.append(route)

    page.route("**/*", hold)
    page.goto(server.url, wait_until="commit")
    expect(page.locator("#src")).to_have_text(sampled[3].src)
    page.keyboard.press("n")
    expect(page.locator("#said")).to_contain_text("3 right, 1 wrong")
    assert server.session.marks.verdicts()[sampled[3].key] == "wrong"
    assert [route.request.url for route in held] == [f"{server.url}vega.js"]
    held[0].continue_()
    page.unroute("**/*")
    expect(page.locator("#chart svg .mark-group path").first).to_be_attached()


def test_a_stopped_server_is_said_and_nothing_looks_marked(watched: Watched, server: ReviewServer) -> None:
    page = watched.page
    # A route that is added to an open page may come too late for the very next request.
    page.route("**/mark", lambda route: route.abort())
    page.goto(server.url)
    expect(page.locator("#said")).to_have_text("Nothing is marked yet.")
    with page.expect_console_message(lambda message: "ERR_FAILED" in message.text):
        page.keyboard.press("y")
    expect(page.locator(".trouble")).to_contain_text("Not saved")
    expect(page.locator(".left")).to_have_text("0 of 40")
    assert len(watched.trouble) == 1, "the browser itself notes a failed request"
    watched.trouble.clear()
