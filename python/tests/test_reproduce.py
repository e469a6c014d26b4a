"""Figures of papers: measures against series made by hand, claims, and a reproduction at a tiny scale."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import REPOSITORY, Cli

import clearway
from clearway import reproduce
from clearway.reproduce import Claim, Job, quantities, record, scoreboard, work
from clearway.reproduce.claims import VERDICTS, claims_text
from clearway.reproduce.expresspass import fig10, fluid
from clearway.runner import load_scenario

NAN = float("nan")


def claimed(kind: str, value: Any, tolerance: float) -> Claim:
    return Claim("id", "sec. 1", "what", kind, "metric", "RTT", value, tolerance)


def test_losses_known_late_cost_utilisation_unless_matched() -> None:
    assert fluid.utilisation(4, 0) == pytest.approx(1)
    assert fluid.utilisation(4, 1) == pytest.approx(0.80, abs=0.01)
    assert fluid.utilisation(4, 1, matched=True) == pytest.approx(1)


def run_with(samples: Sequence[tuple[float, str, float]]) -> clearway.Run:
    rows = [("throughput", time, entity, "bps", value) for time, entity, value in samples]
    frame = pl.DataFrame(rows, schema=["series", "time_s", "entity", "quantity", "value"], orient="row")
    return clearway.Run("made", pl.DataFrame(), pl.DataFrame(), frame, {}, "")


def test_bins_begin_after_the_start_and_a_late_flow_counts_as_zero_before() -> None:
    run = run_with(
        [
            *[(1, "f/0", 8), (2, "f/0", 6), (3, "f/0", 4), (4, "f/0", 2), (5, "f/0", 9)],
            *[(3, "f/1", 1), (4, "f/1", 3), (5, "f/1", 9)],
        ]
    )
    names, rates = quantities.binned(run, "throughput", 0, 2)
    assert names == ["f/0", "f/1"]
    assert rates.tolist() == [[7, 3], [0, 2]]
    assert quantities.binned(run, "throughput", 2, 2)[1].tolist() == [[3], [2]]


def test_fairness_is_the_mean_of_the_intervals() -> None:
    assert quantities.fairness(np.array([[1.0, 2.0], [1.0, 0.0]])) == pytest.approx((1 + 0.5) / 2)


def test_books_balance_without_counting_used_credits_twice() -> None:
    assert quantities.balanced(
        {"sent": 10, "delivered": 6, "dropped, buffer": 1, "in flight": 3, "used": 5, "wasted": 1}
    )
    assert not quantities.balanced({"sent": 10, "delivered": 6, "in flight": 3})


@pytest.mark.parametrize(
    ("kind", "value", "tolerance", "measured", "holds"),
    [
        ("value", 100, 0.1, 110, True),
        ("value", 100, 0.1, 89, False),
        ("ratio", 80, 0.5, 121, False),
        ("bound", {"max": 3}, 0.34, 4, True),
        ("bound", {"max": 3}, 0.34, 5, False),
        ("bound", {"max": 0}, 0.0, 0, True),
        ("bound", {"max": 0}, 0.0, 1, False),
        ("bound", {"max": 1.34}, 1.5, 1.7, True),
        ("bound", {"min": 80}, 0.5, 40, True),
        ("bound", {"min": 80}, 0.5, 39, False),
        ("bound", {"max": 3}, 0.34, NAN, False),
        ("bound", {"max": 3}, 0.34, math.inf, False),
    ],
)
def test_a_claim_holds_within_its_tolerance(
    kind: str, value: Any, tolerance: float, measured: float, holds: bool
) -> None:
    assert claimed(kind, value, tolerance).holds(measured) is holds


def test_a_claim_with_cases_is_held_against_each() -> None:
    both = claimed("value", {"2": 98.0, "6": 97.8}, 0.02)
    assert both.holds(97, "2")
    assert not both.holds(92, "6")
    assert both.text == "2: 98.0 RTT, 6: 97.8 RTT"


def test_every_claim_is_whole() -> None:
    known = reproduce.claims("expresspass")
    assert len(known) >= 18
    for one in known.values():
        assert one.source
        assert one.what
        assert one.kind in ("value", "bound", "ratio", "trend", "ordering", "table")
    with pytest.raises(clearway.Error, match="no claim"):
        reproduce.claim("expresspass", "fig99")


@pytest.mark.parametrize("paper", sorted(scoreboard.PAPERS))
def test_every_claim_of_a_paper_has_a_figure(paper: str) -> None:
    known = set(reproduce.claims(paper))
    judged = [name for figure in reproduce.figures().values() if figure.paper == paper for name in figure.claims]
    assert set(judged) == known
    assert len(judged) == len(known), "each claim belongs to one figure"


#: What is no quantity in prose, or marked as one that follows from no table: names in braces, code, links, references.
NO_QUANTITY = re.compile(
    r"\{[^}]*\}|`[^`]*`|\]\([^)]*\)|([Ff]ig|[Ss]ec)\. ?[\d.]+( \(\w\))?|[Ss]ections? [\d.]+|[Ee]q\. \(\d+\)|RFC \d+"
)
QUANTITY = re.compile(r"(?<![\w.^-])\d[\d,]*(?:\.\d+)?(?!\w)")


def quantities_in(text: str) -> list[float]:
    """The numbers in a text."""
    return [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


@dataclass(frozen=True)
class Planned:
    """A figure with its simulations at each scale."""

    figure: reproduce.Figure
    jobs: dict[str, list[Job]]


@pytest.fixture(scope="module", params=sorted(reproduce.figures()))
def planned(request: pytest.FixtureRequest) -> Planned:
    """Each figure in turn, for all tests of it: to list the simulations takes as long as to check them."""
    (figure,) = reproduce.find(request.param)
    return Planned(figure, {scale: reproduce.jobs_at(figure, scale) for scale in reproduce.SCALES})


def stated(planned: Planned) -> set[float]:
    """The numbers that a figure may use in prose: of its paper's claims, of its docstring, of its scenarios.

    The scenarios of `full` are those of `paper` with other seeds, which are among the parameters.
    """
    figure = planned.figure
    parts = {json.dumps(dict(job.params)) for jobs in planned.jobs.values() for job in jobs}
    jobs = [*planned.jobs["quick"], *planned.jobs["paper"]]
    parts |= {json.dumps({key: value for key, value in job.scenario.items() if key != "traffic"}) for job in jobs}
    parts |= {json.dumps(traffic)[:500] for job in jobs for traffic in job.scenario["traffic"][:5]}
    return {one for text in (figure.doc, claims_text(figure.paper), *parts) for one in quantities_in(text)}


def typed_by_hand(prose: str, known: set[float]) -> list[str]:
    """The numbers in prose that are neither named nor marked nor known, with the words before them."""
    text = NO_QUANTITY.sub("_", prose).replace("\n", " ")
    found = [(one.start(), one[0]) for one in QUANTITY.finditer(text)]
    return [text[max(0, at - 30) : at] + one for at, one in found if quantities_in(one)[0] not in known]


def test_no_number_in_the_prose_of_a_figure_is_typed_by_hand(planned: Planned) -> None:
    # docs/verdicts.md has the rule: what we measured is a name in braces.
    template = planned.figure.template
    assert template.strip()
    assert typed_by_hand(template, stated(planned)) == []


def test_a_number_typed_by_hand_is_found() -> None:
    prose = "It has {used:.1f} %, `7.5 KB` (sec. 4.1, E17-8), and 98.0 %\nwith 2,048 flows, 6 of them late."
    found = typed_by_hand(prose, {2048.0})
    assert [one.split()[-1] for one in found] == ["98.0", "6"]
    assert found[1].endswith("with 2,048 flows, 6")
    assert typed_by_hand(prose, {2048.0, 98.0, 6.0}) == []


def test_the_scenarios_of_a_figure_are_valid_and_all_different(planned: Planned) -> None:
    loaded = set()
    for scale, jobs in planned.jobs.items():
        assert len({json.dumps(dict(job.params)) for job in jobs}) == len(jobs)
        assert all(isinstance(job.scenario.get("seed", 1), int) for job in jobs)
        # Those of `full` are those of `paper` with other seeds, and a seed that is a number makes no scenario wrong. Of
        # those of `paper`, each tenth is loaded here; `make docs-check` loads all, to see what they cost.
        for job in {"quick": jobs, "paper": jobs[::10], "full": []}[scale]:
            but_for_the_seed = json.dumps({**job.scenario, "seed": 1})
            if but_for_the_seed not in loaded:
                loaded.add(but_for_the_seed)
                load_scenario(job.scenario)


@pytest.mark.parametrize("name", sorted(reproduce.figures()))
def test_every_figure_has_a_page_with_its_pictures(name: str) -> None:
    (figure,) = reproduce.find(name)
    page = (REPOSITORY / "docs/results" / f"{figure.slug}.md").read_text("utf-8")
    assert figure.doc.strip() in page
    for picture in figure.captions:
        assert (REPOSITORY / "docs/img" / f"{figure.slug}-{picture}.svg").exists()


def tiny() -> list[Job]:
    """Fig. 10 for a moment."""
    jobs = [job for job in fig10.jobs("quick") if job.params["seed"] == 1]
    return [replace(job, scenario={**job.scenario, "stop": "20 ms"}) for job in jobs]


def test_a_figure_is_reproduced_and_nothing_is_run_twice(tmp_path: Path) -> None:
    heard: list[str] = []
    found = reproduce.reproduce(
        "expresspass/fig10",
        out=tmp_path,
        processes=1,
        jobs=tiny(),
        progress=lambda _, label: heard.append(label),
    )
    assert heard == [job.label for job in tiny()]
    assert found.cached == 0
    assert {one.verdict for one in found.findings} <= set(VERDICTS)
    assert next(one for one in found.findings if one.claim.id == "sec1-zero-data-loss").verdict == "reproduced"
    assert all(path.exists() for path in found.files)
    assert {path.suffix for path in found.files} == {".csv", ".parquet", ".svg", ".png", ".md", ".json"}
    page = found.files[-1].read_text("utf-8")
    assert "`fig10-parking-lot-naive`" in page
    again = reproduce.reproduce("expresspass/fig10", out=tmp_path, jobs=tiny(), docs=tmp_path / "docs")
    assert again.cached == again.runs == len(tiny())
    assert again.tables["rows"].equals(found.tables["rows"])
    assert "(../img/expresspass-fig10-utilisation.svg)" in (tmp_path / "docs/results/expresspass-fig10.md").read_text(
        "utf-8"
    )


def test_an_interrupted_figure_goes_on_where_it_was(tmp_path: Path) -> None:
    heard: list[str] = []

    def stop(_: str, label: str) -> None:
        heard.append(label)
        if len(heard) == 2:
            raise KeyboardInterrupt

    jobs = tiny()[:4]
    with pytest.raises(KeyboardInterrupt):
        work.gather(fig10.FIGURE, jobs, tmp_path, 1, stop)
    # The rest in other processes, with the same result as in this one.
    outcome = work.gather(fig10.FIGURE, jobs, tmp_path, 2, lambda *_: None)
    assert outcome.cached == 2
    alone = work.gather(fig10.FIGURE, jobs, tmp_path / "alone", 1, lambda *_: None)
    assert outcome.tables["rows"].equals(alone.tables["rows"])


def test_a_damaged_result_is_computed_anew_and_a_damaged_record_is_named(tmp_path: Path) -> None:
    jobs = tiny()[:1]
    first = work.gather(fig10.FIGURE, jobs, tmp_path, 1, lambda *_: None)
    batch = work.batch(fig10.FIGURE, jobs, tmp_path)
    assert batch.missing == []
    (batch.store.path(batch.keys[0]) / "rows.parquet").write_bytes(b"PAR1")
    again = work.gather(fig10.FIGURE, jobs, tmp_path, 1, lambda *_: None)
    assert again.cached == 0
    assert again.tables["rows"].equals(first.tables["rows"])
    (tmp_path / "expresspass-fig10.json").write_text("[]")
    with pytest.raises(clearway.Error, match=r"expresspass-fig10.json: is not the record of a figure"):
        record.load(fig10.FIGURE, tmp_path)


def test_what_is_measured_is_part_of_the_key() -> None:
    first, second = tiny()[:2]
    assert work.key(fig10.FIGURE, first, "how") == work.key(fig10.FIGURE, first, "how")
    assert work.key(fig10.FIGURE, first, "how") != work.key(fig10.FIGURE, second, "how")
    other = replace(first, scenario={**first.scenario, "seed": 7})
    assert work.key(fig10.FIGURE, first, "how") != work.key(fig10.FIGURE, other, "how")


def test_figures_are_listed_and_unknown_ones_refused(cli: Cli) -> None:
    listed = cli("list", "figures")
    assert listed.returncode == 0
    assert "expresspass/fig16" in listed.stdout
    assert "Unstated" in cli("list", "figures", "expresspass/fig16").stdout
    refused = cli("reproduce", "expresspass/fig99")
    assert refused.returncode == 2
    assert "expresspass/fig16" in refused.stderr
