"""Figures at several sizes: the largest decides, the others show where its numbers lead, quick runs guard the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

import clearway
from clearway import reproduce
from clearway.reproduce import Figure, Finding, Job, record, scale, stale
from clearway.reproduce.expresspass import common, fig10

QUICK, SMALL, LARGE, PAPER = 10, 20, 40, 80


def at(size: float) -> list[Job]:
    """An incast at a share of the paper's 80 KB an answer."""
    kilobytes = round(size * PAPER)
    scenario = {
        "topology": {"kind": "star", "hosts": 4, "rate": "10 Gbps"},
        "transport": {"name": "expresspass"},
        "traffic": [{"kind": "incast", "receiver": "h0", "senders": 2, "size": f"{kilobytes} KB"}],
    }
    return [Job({"kilobytes": kilobytes, "seed": 1}, {"name": "sized", "seed": 1, **scenario})]


def jobs(name: str) -> list[Job]:
    return at(1 if name == "paper" else QUICK / PAPER)


def flows(_: Job, run: clearway.Run) -> dict[str, pl.DataFrame]:
    return {"rows": run.flows.select("size_bytes", "fct_s")}


def judged(tables: dict[str, pl.DataFrame]) -> list[Finding]:
    """A verdict that the size decides."""
    most = int(tables["rows"]["size_bytes"].max())  # type: ignore[arg-type]
    claim = reproduce.claim("expresspass", "fig10-parking-lot-naive")
    verdict = "reproduced" if most >= 1000 * LARGE else "not reproduced"
    return [Finding(claim, f"{most} B", verdict, "", "default", 1)]  # type: ignore[arg-type]


# A module without prose, whose numbers these tables could not give.
judged.__module__ = common.__name__


def sized(title: str = "Sized") -> Figure:
    figure = replace(fig10.FIGURE, title=title, jobs=jobs, at=at, sizes=(SMALL / PAPER, LARGE / PAPER), measure=flows)
    return replace(figure, check=judged, summarise=dict, facts=lambda _: {}, draw=lambda *_: {}, captions={}, shown={})


def test_the_largest_size_decides_and_each_row_says_what_came_out_at_smaller_ones(tmp_path: Path) -> None:
    found = reproduce.reproduce(sized(), scale="paper", out=tmp_path, processes=1)
    assert [one.measured for one in found.findings] == [f"{1000 * LARGE} B"]
    assert found.runs == 2
    assert found.share == LARGE / PAPER
    kept = record.load(sized(), tmp_path / "records")
    assert kept
    assert kept.rows[0].verdict == "reproduced"
    assert kept.rows[0].smaller == ((SMALL / PAPER, f"{1000 * SMALL} B", "not reproduced"),)
    page = (tmp_path / "expresspass-fig10" / "expresspass-fig10.md").read_text("utf-8")
    assert "1/4.0 of the paper's size | 1/2.0 of the paper's size" in page
    assert f"{1000 * SMALL} B: not reproduced | {1000 * LARGE} B: reproduced" in page


def test_the_scale_full_has_the_papers_size_and_the_cost_of_paper_counts_all_sizes() -> None:
    assert [job.params["kilobytes"] for job in scale.jobs_at(sized(), "full")] == [PAPER] * scale.TIMES
    assert [job.params["kilobytes"] for job in scale.all_jobs(sized(), "paper")] == [LARGE, SMALL]
    assert [job.params["kilobytes"] for job in scale.all_jobs(sized(), "quick")] == [QUICK]


def test_a_simulation_that_two_sizes_share_is_run_once_and_counts_for_both(tmp_path: Path) -> None:
    same = replace(sized(), at=lambda _: at(1))
    done: list[str] = []
    found = reproduce.reproduce(
        same, scale="paper", out=tmp_path, processes=1, progress=lambda _, label: done.append(label)
    )
    assert found.runs == len(done) == 2
    assert len(list((tmp_path / ".cache").rglob("done.json"))) == 1


def test_a_quick_run_leaves_the_page_of_a_larger_one_and_keeps_a_record_of_its_own(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    data, page = docs / "results" / "data", docs / "results" / "expresspass-fig10.md"
    reproduce.reproduce(sized(), out=tmp_path, docs=docs, processes=1)
    quick = record.load(sized(), data)
    reproduce.reproduce(sized(), scale="paper", out=tmp_path, docs=docs, processes=1)
    larger, text = record.load(sized(), data), page.read_text("utf-8")
    assert larger
    assert larger.scale == "paper"
    assert record.load(sized(), data / record.QUICK) == quick
    reproduce.reproduce(sized(), out=tmp_path, docs=docs, processes=1)
    assert record.load(sized(), data) == larger
    assert page.read_text("utf-8") == text


def test_the_page_of_a_larger_scale_stands_until_its_texts_scenarios_or_quick_results_change(tmp_path: Path) -> None:
    docs, figure = tmp_path / "docs", sized()
    data = docs / "results" / "data"
    reproduce.reproduce(figure, scale="paper", out=tmp_path, docs=docs, processes=1)

    def look(at: Figure = figure) -> stale.Verdict:
        return stale.look_at(at, docs, 1, lambda *_: None)

    assert look().stale == "it has no record of its quick runs"
    reproduce.reproduce(figure, out=tmp_path, docs=docs, processes=1)
    assert look() == stale.Verdict(figure.name, "", anew=False)
    assert look(sized("Another")).stale == "its texts or the rules of its claims changed"
    assert look(replace(figure, sizes=(SMALL / PAPER, 0.6))).stale == "its scenarios at the scale paper changed"

    quick = record.load(figure, data / record.QUICK)
    assert quick
    record.save(replace(quick, sources="others"), data)
    assert look() == stale.Verdict(figure.name, "", anew=True), "other sources, the same quick results"
    record.save(replace(quick, sources="others", result="another"), data)
    assert look().stale.startswith("at the scale quick, ")
