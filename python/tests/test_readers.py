"""The pages for readers: counts, cards, pictures, and the file of headlines behind them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from conftest import REPOSITORY

import clearway
from clearway.reproduce import Figure, Finding, figures, judge, readers, record, scoreboard, stats
from clearway.reproduce.causes import Cause
from clearway.reproduce.claims import claim, claims
from clearway.reproduce.pac import fig07
from clearway.reproduce.readers import cards, pictures
from clearway.reproduce.readers.headlines import frame, parsed
from clearway.reproduce.readers.model import Limits, Mark, Paper, Value, between, marks, number, papers
from clearway.reproduce.readers.model import limits as limits_of
from clearway.reproduce.readers.scales import scale_of, value_text
from clearway.reproduce.scoreboard import PAPERS, Score

RECORDS = REPOSITORY / "docs" / "results" / "data"


@cache
def scores() -> list[Score]:
    return scoreboard.scores(figures(), RECORDS)


@cache
def known() -> dict[str, Paper]:
    return {one.name: one for one in papers(scores())}


@cache
def texts() -> Mapping[str, str]:
    return readers.files(figures(), RECORDS)


@pytest.mark.parametrize("name", PAPERS)
def test_counts_are_those_of_the_scoreboard(name: str) -> None:
    rows = [one for one in scores() if one.paper == name]
    counted = known()[name].counted
    assert len(counted.tested) == len(scoreboard.tested(scoreboard.once(rows))) == sum(counted.bar.values())
    assert counted.share == scoreboard.share(rows)
    assert len(counted.once) == len(counted.tested) + sum(counted.rest.values()) + counted.by_verdict["none"]
    assert counted.causes == scoreboard.causes(rows)
    assert sum(counted.causes.values()) == len(counted.tested) - counted.holding
    assert sum(counted.scales.values()) == len(counted.tested)


def test_the_board_shows_the_numbers_of_the_summary() -> None:
    head, rows = scoreboard.summary_texts(list(scores()))
    board = texts()["results/README.md"]
    for row in rows:
        found = dict(zip(head, row, strict=True))
        shown = rf"^\| (\[)?{re.escape(found['paper'])}.*\| {found['claims']} \| {found['tested by simulation']} \| "
        assert re.search(shown + re.escape(found["of these hold"]), board, flags=re.MULTILINE)


@pytest.mark.parametrize("name", PAPERS)
def test_a_claim_is_shown_once_as_a_card_and_links_to_its_figure(name: str) -> None:
    page = texts()[f"results/{name}.md"]
    shown = re.findall(r"`([^`]+)`: (?:\[how it was measured\]\(([^)]+)\)|not run yet)", page)
    assert sorted(one for one, _ in shown) == sorted(claims(name))
    assert all((REPOSITORY / "docs/results" / link).exists() for _, link in shown if link)


@pytest.mark.parametrize("name", PAPERS)
def test_every_headline_is_on_its_page_with_a_picture_or_its_numbers_in_words(name: str) -> None:
    page = texts()[f"results/{name}.md"]
    assert len(known()[name].headlines) == 10
    for place, one in enumerate(known()[name].headlines, 1):
        assert f"**{place}. {cards.plain(one.headline.title)}**" in page
        picture = f"img/headline-{name}-{one.headline.id}.svg"
        assert (f"(../{picture})" in page) == (picture in texts()) == bool(one.marks)


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_that_a_simulation_tests_has_a_topic(name: str) -> None:
    tested = {one.claim.id for one in known()[name].counted.tested}
    assert tested - {one for topic in frame(name).topics for one in topic.claims} == set()


def test_the_same_records_give_the_same_pages() -> None:
    assert readers.files(figures(), RECORDS) == texts()


def test_a_page_without_records_says_so(tmp_path: Path) -> None:
    for place, text in readers.files(figures(), tmp_path / "data").items():
        if place == "results/pac.md":
            assert "none of its 40 claims has a verdict. `clearway reproduce pac --docs docs` runs" in text
        if place == "results/README.md":
            assert "| all | 238 | 0 | - |" in text


def test_pictures_that_no_page_shows_any_more_are_removed(tmp_path: Path) -> None:
    (tmp_path / "img").mkdir()
    for name in ("headline-pac-gone.svg", "pac-fig07-goodput.svg"):
        (tmp_path / "img" / name).write_text("<svg/>")
    readers.write(figures(), tmp_path / "results" / "data", tmp_path)
    left = {path.name for path in (tmp_path / "img").iterdir()}
    assert "headline-pac-gone.svg" not in left
    assert {"pac-fig07-goodput.svg", "bar-all.svg"} <= left


def found(measured: judge.Measured, space: float = 20.0) -> Finding:
    """A finding on the ACKs that PAC holds back: 223, with a tolerance of 40 %, in tens of KB."""
    return judge.judge(claim("pac", "sec4a-ack-buffering"), {"value": measured, "space, KB": space})


def score(finding: Finding) -> Score:
    return Score("pac", finding.claim, finding, "pac/fig15", "paper")


def row_in(path: Path) -> record.Row:
    kept = record.load(replace(fig07.FIGURE, name="pac/fig98"), path)
    assert kept
    return kept.rows[0]


def saved(finding: Finding, path: Path) -> Path:
    rows = [record.Row.of(finding, "pac")]
    record.save(record.Record("pac/fig98", "quick", "c" * 40, "0", "s", "r", "j", ("run", "h"), rows), path)
    return path


def test_a_record_keeps_the_numbers_behind_a_row(tmp_path: Path) -> None:
    finding = found(stats.Estimate(281.0, 280.0, math.inf, 5))
    again = row_in(saved(finding, tmp_path)).finding()
    assert again.numbers == finding.numbers
    assert again.numbers["value"] == (281.0, 280.0, math.inf)
    json.loads((tmp_path / "pac-fig98.json").read_text(), parse_constant=pytest.fail)


def test_numbers_are_no_part_of_what_the_hash_of_a_record_is_of() -> None:
    row = record.Row.of(found(281.0), "pac")
    assert row.numbers
    assert record.hashed(row) == record.hashed(replace(row, numbers={}))


def test_a_record_without_numbers_shows_the_text_and_no_picture() -> None:
    headline = frame("pac").headlines[0]
    assert marks(headline, score(found(281.0)))[0].values == (Value(281.0, 281.0, 281.0),)
    assert marks(headline, score(replace(found(281.0), numbers={}))) == ()
    assert marks(headline, Score("pac", claim("pac", headline.id), None, "")) == ()


def test_a_picture_has_the_papers_number_and_ours_on_one_scale() -> None:
    (first, *_) = known()["pac"].headlines
    shown = replace(first, marks=marks(first.headline, score(found(stats.Estimate(281.0, 280.0, 283.0, 5)))))
    svg = pictures.headline(shown)
    assert "paper: 223" in svg
    assert "Clearway: 281 (280 to 283)" in svg
    assert svg.count("<circle") == 1
    assert "paper: 223; Clearway: 281 (280 to 283)" in pictures.about(shown)


def limits(least: float, most: float, paper: float | None = None) -> Limits:
    return Limits(paper, between(least, most), least, most)


def test_the_limit_that_a_paper_prints_is_on_the_scale_beside_its_tolerance() -> None:
    bound = limits_of(claim("expresspass", "fig16-convergence-10g-dctcp-ratio"), "value")
    assert (bound.paper, bound.least, bound.most, bound.says) == (80, 40, math.inf, "paper: at least 80")
    scale = scale_of([Mark("", (Value(26.0, 23.0, 31.0),), bound)], True, 10, 300)
    assert scale.low < 23
    assert scale.high > 80


def test_a_scale_holds_all_numbers_and_begins_at_zero_where_they_are_near() -> None:
    mark = Mark("", (Value(27.0, 23.0, 31.0),), limits(-math.inf, 4.0, 3.0))
    for log in (False, True):
        scale = scale_of([mark], log, 10, 300)
        places = [scale.at(one) for one in (3.0, 23.0, 27.0, 31.0)]
        assert places == sorted(places)
        assert 10 < places[0] < places[-1] < 300
        assert all(scale.low <= one <= scale.high for one in scale.ticks())
    assert scale_of([mark], False, 10, 300).low == 0


def test_a_logarithmic_scale_becomes_linear_where_a_number_is_zero() -> None:
    assert not scale_of([Mark("", (Value(0.0, 0.0, 0.0),), limits(-math.inf, 100.0))], True, 10, 300).log
    assert scale_of([Mark("", (Value(9.8, -1.5, 21.0),), limits(2, 6, 4))], True, 10, 300).log, "an end of an interval"


def test_numbers_are_written_as_people_read_them() -> None:
    assert [number(one) for one in (0.876, 27.06, 4113.0, math.inf, math.nan, 0.0004)] == [
        *("0.876", "27.1", "4,110", "never", "none", "4.0e-4")
    ]
    assert value_text([Value(1.0, 1.0, 1.0), Value(3.0, 2.0, 4.0)]) == "1 to 3"
    assert value_text([Value(372.4, 372.4, 372.4)]) == "372"


def test_a_card_says_what_the_cause_is_and_how_it_is_known() -> None:
    failed = replace(found(281.0, space=5.0), cause=Cause("one change", "the buffer is `96 KB`"))
    text = cards.card(score(failed), figures())
    assert "The buffer is `96 KB`." in text
    assert '<code class="chip">cause: one change</code>' in text
    assert '<code class="chip fails">not reproduced</code>' in text
    assert "No cause is isolated." in cards.card(score(found(281.0, space=5.0)), figures())


def test_a_long_text_of_what_was_measured_ends_at_a_comma() -> None:
    text = "; ".join(f"{flows} flows: 0.{flows}" for flows in range(100))
    assert len(cards.shortened(text)) < 220
    assert cards.shortened(text).endswith(", and more")


GOOD = (REPOSITORY / "python/clearway/reproduce/claims/pac.headlines.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('title = "PAC', 'titel = "PAC', "headline 1: unknown key 'titel'; did you mean \"title\"?; it has"),
        ('id = "abstract-40x-more-senders"', 'id = "abstract-40x-senders"', "pac has no claim 'abstract-40x-senders'"),
        ('scale = "log"', 'scale = "logarithmic"', "scale = 'logarithmic': write linear or log"),
        ('unit = "times"', "unit = 1", 'unit = 1: write a text, such as "..."'),
        ('unit = "times"\n', "", "headline 1: it needs unit"),
        ('id = "fig15-goodput-1600-senders"', 'id = "abstract-40x-more-senders"', "is a headline twice"),
        ('"fig03-*"', '"fig99-*"', "no claim of pac matches 'fig99-*'"),
        ('"fig03-*"', '"fig07-pac-*"', "'fig07-pac-no-collapse-at-100' is in two topics; a claim has one"),
        ('quantities = { ICTCP = "ICTCP"', "quantities = { ICTCP = 1", "quantities: 1 is no label"),
        ("promise = ", "promises = ", "unknown key 'promises'"),
        ("[[headline]]", "[[headline]", "pac.headlines.toml: "),
    ],
)
def test_a_mistake_in_the_file_of_headlines_is_named(old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(clearway.Error, match=re.escape(says)):
        parsed("pac", GOOD.replace(old, new, 1))


def test_a_paper_has_ten_headlines() -> None:
    with pytest.raises(clearway.Error, match="9 headlines; a paper has 10"):
        parsed("pac", GOOD[: GOOD.rindex("[[headline]]")])


def test_every_figure_page_of_a_paper_is_linked_from_its_page() -> None:
    for name in PAPERS:
        judged: list[Figure] = [one for one in figures().values() if one.paper == name and one.claims]
        linked = texts()[f"results/{name}.md"]
        assert [one.slug for one in judged if f"({one.slug}.md)" not in linked] == []
