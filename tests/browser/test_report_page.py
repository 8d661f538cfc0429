"""The report in a browser: charts are drawn, the search filters, texts stay texts, nothing leaves the page."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import expect

from pipelines.mine.score_curve import ScoreCurve
from pipelines.report import write_report
from pipelines.report.charts import THEME_COLOURS, over_rounds
from pipelines.report.page import asset, vega_bundle
from tests.browser.conftest import Watched
from tests.pipelines.report.test_report import HOSTILE
from tests.pipelines.works import pairs_of, write_work

MANY = 100_000


def calibrated(count: int) -> ScoreCurve:
    scores = [pair.score for pair in pairs_of(count)]
    falling = [1 - row / (2 * count) for row in range(count)]
    return ScoreCurve(
        basis="calibration", edges=[1.0, 1.25, 1.5, 1.75, 2.0], counts=[count // 4] * 4, threshold=scores,
        kept=list(range(1, count + 1)), precision=falling, precision_low=[x - 0.1 for x in falling],
        precision_high=[min(1, x + 0.1) for x in falling], recall=[row / count for row in range(count)],
    )  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of two mines, one of them with all there is to know."""
    folder = tmp_path_factory.mktemp("demo")
    write_work(folder / "work" / "en-de", pairs_of(200), curve=calibrated(200))
    write_work(folder / "work" / "en-ar", HOSTILE, ("en", "ar"))
    gold = folder / "mine" / "en-de" / "gold.tsv"
    gold.parent.mkdir(parents=True)
    gold.write_text("".join(f"{pair.src}\t{pair.tgt}\n" for pair in pairs_of(200)[:150]))
    return Path(write_report(str(folder))).as_uri()


def test_every_chart_is_drawn_and_nothing_is_requested(watched: Watched, demo: str) -> None:
    page = watched.page
    page.goto(demo)
    page.get_by_role("tab", name="en-de").click()
    section = page.locator("section.mine:visible")
    for key in ("histogram", "precision", "yield", "recall", "funnel", "lengths", "hubs"):
        marks = section.locator(f'[data-chart="{key}"] svg .mark-group path')
        expect(marks.first).to_be_attached()
        assert any((path.get_attribute("d") or "").strip() for path in marks.all()), f"{key} is empty"
    assert "threshold 1.000" in (section.locator('[data-chart="histogram"] svg').text_content() or "")
    section.locator('[data-chart="yield"] svg').hover(position={"x": 200, "y": 150})
    assert set(watched.requests) == {demo}


def test_search_and_bands_filter_the_pairs(watched: Watched, demo: str) -> None:
    page = watched.page
    page.goto(demo)
    page.get_by_role("tab", name="en-de").click()
    section = page.locator("section.mine:visible")
    rows, found = section.locator("table.pairs tbody tr"), section.locator(".found")
    expect(found).to_have_text("200 shown")
    expect(rows).to_have_count(25)
    section.get_by_label("Search both sides").fill("NUMMER 17")
    expect(found).to_have_text("12 shown")  # 17, 117, and 170 to 179
    expect(rows).to_have_count(12)
    assert rows.first.locator("mark").all_inner_texts() == ["17", "Nummer", "17"]
    section.get_by_label("Search both sides").fill("number 199")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("wrong")
    section.get_by_label("Search both sides").fill("")
    section.locator(".bands button").nth(1).click()
    expect(found).to_have_text("20 shown")
    expect(rows.first).to_contain_text("right")
    section.get_by_role("button", name="all 200").click()
    section.get_by_role("button", name="next").click()
    expect(rows.first).to_contain_text("sentence number 25")


def test_hostile_and_right_to_left_texts_are_texts(watched: Watched, demo: str) -> None:
    page = watched.page
    page.goto(demo)
    page.get_by_role("tab", name="en-ar").click()
    section = page.locator("section.mine:visible")
    for row, pair in enumerate(HOSTILE):
        cells = section.locator("table.pairs tbody tr").nth(row).locator("bdi")
        assert [cell.text_content() for cell in cells.all()] == [pair.src, pair.tgt]
        assert [cell.get_attribute("lang") for cell in cells.all()] == ["en", "ar"]
    assert page.evaluate("window.broken") is None
    arabic = section.locator("table.pairs tbody tr").nth(2).locator("bdi").nth(1)
    assert arabic.evaluate("element => getComputedStyle(element).direction") == "rtl"
    assert arabic.evaluate("element => getComputedStyle(element).unicodeBidi") == "isolate"
    overridden = section.locator("table.pairs tbody tr").nth(1)
    # The override inside the source must not turn the score in front of it.
    assert overridden.locator("td").first.inner_text() == "1.800"


def test_light_and_dark(watched: Watched, demo: str) -> None:
    page = watched.page
    page.emulate_media(color_scheme="dark")
    page.goto(demo)
    paper = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_label("light or dark").click()
    assert page.evaluate(paper) != dark
    expect(page.locator('[data-chart="histogram"] svg').first).to_be_visible()


def test_a_hundred_thousand_pairs_make_no_large_page(watched: Watched, tmp_path: Path) -> None:
    written = write_report(str(write_work(tmp_path / "work", pairs_of(MANY))), pairs=MANY)
    page = watched.page
    page.goto(Path(written).as_uri())
    expect(page.locator(".found")).to_have_text("100,000 shown")
    page.get_by_label("Search both sides").fill("99999")
    expect(page.locator(".found")).to_have_text("1 shown")
    page.get_by_label("Search both sides").fill("number 9")
    nines = sum("9" in str(number) for number in range(MANY))
    expect(page.locator(".found")).to_have_text(f"{nines:,} shown")
    assert page.evaluate("document.querySelectorAll('*').length") < 6000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_many_languages_are_all_in_the_legend_each_in_its_own_look(
    watched: Watched, scheme: Literal["light", "dark"]
) -> None:
    names = [f"en-{number:02}" for number in range(THEME_COLOURS + 4)]
    rows = [{"round": n, "value": place * (n + 1), "what": name} for place, name in enumerate(names) for n in range(3)]
    scripts = "".join(f"<script>{text}</script>" for text in (vega_bundle(), asset("charts.js")))
    page = watched.page
    page.emulate_media(color_scheme=scheme)
    page.set_content(f'<div id="chart" style="width: 420px"></div>{scripts}')
    page.evaluate("spec => draw(document.querySelector('#chart'), spec)", over_rounds(rows, "pairs", percent=False))
    chart = page.locator("#chart svg")
    labels = chart.locator(".role-legend-label text")
    expect(labels).to_have_count(len(names))
    assert sorted(labels.all_text_contents()) == names
    frame = chart.bounding_box()
    assert frame is not None
    for label in labels.all():
        box = label.bounding_box()
        assert box is not None
        assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]
    lines = chart.locator(".mark-line path").all()
    looks = {(line.get_attribute("stroke"), line.get_attribute("stroke-dasharray")) for line in lines}
    assert len(looks) == len(lines) == len(names)
    assert len({stroke for stroke, _ in looks}) == THEME_COLOURS


def test_rounds_are_drawn_and_chinese_is_chinese(watched: Watched, tmp_path: Path) -> None:
    for folder, count in ((tmp_path / "work", 3), (tmp_path / "round-1" / "work", 5)):
        pairs = [pair._replace(tgt=f"第{number}個句子") for number, pair in enumerate(pairs_of(count))]
        write_work(folder / "en-zh", pairs, ("en", "zh"))
    page = watched.page
    page.goto(Path(write_report(str(tmp_path))).as_uri())
    lines = page.locator('[data-chart="pairs"] svg .mark-group path')
    expect(lines.first).to_be_attached()
    assert any((path.get_attribute("d") or "").strip() for path in lines.all())
    expect(page.locator("table.rounds tbody tr")).to_have_count(2)
    assert page.locator("h2 + dl.tiles").count() == 2
    expect(page.get_by_role("tab").first).to_have_text("en-zh")
    cell = page.locator("section.mine:visible table.pairs tbody tr").first.locator("bdi").last
    expect(cell).to_have_text("第0個句子")
    assert cell.get_attribute("lang") == "zh"
