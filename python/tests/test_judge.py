"""The rule by which claims are judged: intervals, verdicts, the scoreboard, and pages that went stale."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clearway
from clearway import reproduce
from clearway.jobs import sources
from clearway.reproduce import Claim, Figure, Finding, Job, judge, record, scoreboard, stale, stats
from clearway.reproduce.expresspass import common, fig10
from clearway.reproduce.stats import Estimate

NAN = float("nan")


def claimed(value: Any, tolerance: float = 0.1, kind: str = "value", unit: str = "us") -> Claim:
    return Claim("id", "sec. 1", "what", kind, "metric", unit, value, tolerance)


def test_the_interval_of_a_mean_is_students() -> None:
    found = stats.estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    # t(0.975, 4) = 2.7764, standard error sqrt(2.5 / 5).
    half = 2.7764451 * math.sqrt(0.5)
    assert (found.mean, found.seeds) == (3.0, 5)
    assert found.low == pytest.approx(3 - half)
    assert found.high == pytest.approx(3 + half)


def test_the_interval_holds_the_true_mean_in_95_of_100_experiments() -> None:
    draw = np.random.default_rng(1).normal(10.0, 3.0, size=(2000, 5))
    held = [one.low <= 10.0 <= one.high for one in map(stats.estimate, draw.tolist())]
    assert 0.935 <= np.mean(held) <= 0.965


def test_pairing_by_seed_takes_away_what_seeds_share() -> None:
    traffic = np.array([1.0, 8.0, 2.0, 30.0, 5.0])
    ratio = stats.paired_ratio((1.1 * traffic).tolist(), traffic.tolist())
    assert (ratio.low, ratio.high) == pytest.approx((1.1, 1.1))
    less = stats.reduction((0.8 * traffic).tolist(), traffic.tolist())
    assert less.mean == pytest.approx(0.2)
    assert less.low <= less.mean <= less.high
    with pytest.raises(ValueError, match="one denominator for each seed"):
        stats.paired_ratio([1.0], [1.0, 2.0])


@pytest.mark.parametrize("values", [[], [1.0, NAN]])
def test_an_estimate_of_nothing_is_no_number(values: list[float]) -> None:
    assert math.isnan(stats.estimate(values).mean)
    assert math.isnan(stats.paired_ratio(values, values).mean)
    assert judge.number(claimed(1.0), stats.estimate(values)).verdict == "not reproduced"


def test_a_percentile_needs_ten_values_beyond_it() -> None:
    assert math.isnan(stats.percentile(np.arange(999.0), 99))
    assert stats.percentile(np.arange(1000.0), 99) == pytest.approx(989.01)
    assert math.isnan(stats.percentile(np.arange(19.0), 50))


@pytest.mark.parametrize(
    ("low", "high", "trend", "verdict"),
    [
        (95, 105, None, "reproduced"),
        (90, 110, None, "reproduced"),
        (85, 105, None, "undecidable"),
        (95, 111, True, "trend reproduced"),
        (95, 111, False, "undecidable"),
        (111, 120, None, "not reproduced"),
        (111, 120, True, "trend reproduced"),
        (111, 120, False, "not reproduced"),
        (50, 150, None, "undecidable"),
    ],
)
def test_a_number_is_judged_by_its_whole_interval(low: float, high: float, trend: bool | None, verdict: str) -> None:
    measured = Estimate((low + high) / 2, low, high, 5)
    found = judge.number(claimed(100.0), measured, trend=trend)
    assert (found.verdict, found.seeds) == (verdict, 5)


def test_each_case_of_a_claim_is_judged_and_none_may_be_missing() -> None:
    both = claimed({"2": 98.0, "6": 97.8}, 0.02)
    assert judge.number(both, {"2": 98, "6": 97}).verdict == "reproduced"
    assert judge.number(both, {"2": 98, "6": 50}).verdict == "not reproduced"
    with pytest.raises(ValueError, match="no measured value for 6"):
        judge.number(both, {"2": 98})
    with pytest.raises(clearway.Error, match="no case '3'"):
        judge.number(both, {"2": 98, "6": 97, "3": 1})
    nested = claimed({"10G": {"down": 577.3, "up": 19.0}, "range": {"min": 1, "max": 2}})
    assert nested.cases == ("10G/down", "10G/up", "range")
    assert judge.number(nested, {"10G/down": 560, "10G/up": 19, "range": 1.5}).verdict == "reproduced"
    assert claimed({"1": 2, "1/32": 14}).number("1/32") == 14, "a name with a slash of its own"


@pytest.mark.parametrize(
    ("value", "measured", "verdict"),
    [
        ({"max": 0}, 0, "reproduced"),
        ({"max": 0}, 1, "not reproduced"),
        ({"max": 1.34}, 1.47, "reproduced"),
        ({"max": 1.34}, 1.71, "not reproduced"),
        ({"min": 80}, 71, "not reproduced"),
        ({"min": 80, "max": 90}, 95, "reproduced"),
        ({"max": 3}, math.inf, "not reproduced"),
    ],
)
def test_a_bound_is_held_within_its_tolerance(value: dict[str, float], measured: float, verdict: str) -> None:
    assert judge.number(claimed(value, kind="bound"), measured).verdict == verdict


def test_a_statement_holds_if_all_its_parts_do() -> None:
    here = claimed({}, kind="ordering")
    assert judge.statement(here, "", {"A < B": True, "B < C": True}).verdict == "reproduced"
    fails = judge.statement(here, "", {"A < B": True, "B < C": False, "C < D": None})
    assert (fails.verdict, fails.note) == ("not reproduced", "fails: B < C")
    assert judge.statement(here, "", {"A < B": True, "B < C": None}).verdict == "undecidable"


def test_a_comparison_is_open_where_the_interval_crosses_the_limit() -> None:
    assert judge.below(Estimate(0.9, 0.8, 0.99, 5), 1.0) is True
    assert judge.below(Estimate(0.9, 0.8, 1.01, 5), 1.0) is None
    assert judge.below(Estimate(1.2, 1.1, 1.3, 5), 1.0) is False
    assert judge.below(Estimate(1.02, 1.01, 1.03, 5), 1.0, slack=0.05) is True
    assert judge.above(Estimate(1.2, 1.1, 1.3, 5), 1.0) is True
    assert judge.above(Estimate(NAN, NAN, NAN, 5), 1.0) is False
    assert judge.both(True, None) is None
    assert judge.both(True, None, False) is False


def test_arithmetic_that_does_not_come_out_is_not_reproduced() -> None:
    assert judge.arithmetic(claimed(13.0, 0.01), 12.976).verdict == "arithmetic"
    assert judge.arithmetic(claimed(13.0, 0.0), 12.976).verdict == "not reproduced"


def finding(verdict: Any) -> Finding:
    return Finding(reproduce.claim("pac", "abstract-40x-more-senders"), "12", verdict, "", "default", 5)


def made(name: str, *verdicts: str) -> record.Record:
    rows = [record.Row.of(finding(verdict), "pac") for verdict in verdicts]
    return record.Record(name, "quick", "c" * 40, "0", "s", "r", "j", ("run", "h"), rows)


def test_a_flipped_bit_in_a_record_is_refused_in_a_line_and_never_misread(tmp_path: Path) -> None:
    figure, kept = replace(fig10.FIGURE, name="pac/fig98"), made("pac/fig98", "reproduced")
    path = record.save(kept, tmp_path)
    content, refused = path.read_bytes(), 0
    for place in range(0, 8 * len(content), 3):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            assert record.load(figure, tmp_path) == kept
        except clearway.Error as error:
            refused += f"{path}: is not the record of a figure, or damaged" in str(error)
    assert refused > len(content)  # Some bits mean nothing: those of blanks that become other blanks.


def test_where_two_figures_judge_one_claim_the_worst_verdict_counts(tmp_path: Path) -> None:
    known = {name: replace(fig10.FIGURE, name=name) for name in ("pac/fig98", "pac/fig99")}
    record.save(made("pac/fig98", "reproduced"), tmp_path)
    record.save(made("pac/fig99", "trend reproduced"), tmp_path)
    assert record.load(known["pac/fig98"], tmp_path) == made("pac/fig98", "reproduced")
    scores = scoreboard.scores(known, tmp_path)
    assert len(scores) == 238
    (judged,) = [one for one in scores if one.finding]
    assert judged.finding
    assert (judged.finding.verdict, judged.figure) == ("trend reproduced", "pac/fig99")
    page = scoreboard.page(scores, known, tmp_path)
    assert "`abstract-40x-more-senders`" in page
    assert page.count("**none**") == 237


def test_the_share_that_holds_leaves_out_what_does_not_apply() -> None:
    here = reproduce.claim("pac", "abstract-40x-more-senders")
    verdicts = ["reproduced", "arithmetic", "trend reproduced", "not reproduced", "not applicable"]
    scores = [scoreboard.Score("pac", here, finding(verdict), "pac/fig15") for verdict in verdicts]
    assert scoreboard.share(scores) == 3 / 4


LIMIT = 3


def over(value: float) -> bool:
    return value > LIMIT


def measuring(_: Job, run: clearway.Run) -> dict[str, pl.DataFrame]:
    """Stands for the measure of a figure."""
    return {"rows": pl.DataFrame({"over": [over(run.summary["simulated_s"])]})}


def test_a_fingerprint_covers_what_a_measure_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "PACKAGE", __name__)
    before = sources.fingerprint(measuring)
    assert sources.fingerprint(measuring) == before
    monkeypatch.setitem(measuring.__globals__, "LIMIT", 4)
    after = sources.fingerprint(measuring)
    assert after != before, "a constant of a helper"
    monkeypatch.setitem(measuring.__globals__, "NAN", 0.0)
    assert sources.fingerprint(measuring) == after, "a constant that it does not use"


def tiny() -> Figure:
    """Fig. 10 for a moment, with one of its simulations."""
    jobs = [job for job in fig10.jobs("quick") if job.params["seed"] == 1][:1]
    jobs = [replace(job, scenario={**job.scenario, "stop": "20 ms"}) for job in jobs]
    return replace(fig10.FIGURE, jobs=lambda _: jobs, check=no_findings, draw=lambda *_: {}, captions={}, shown={})


def no_findings(_: object) -> list[Finding]:
    return []


# A module without prose, whose numbers one simulation could not give.
no_findings.__module__ = common.__name__


def test_a_page_is_stale_once_its_simulations_or_its_text_come_out_otherwise(tmp_path: Path) -> None:
    figure, docs = tiny(), tmp_path / "docs"
    missing = stale.look_at(figure, docs, 1, lambda *_: None)
    assert missing.stale == "it has no page"
    reproduce.reproduce(figure, out=tmp_path, docs=docs, processes=1)
    assert stale.look_at(figure, docs, 1, lambda *_: None) == stale.Verdict(figure.name, "", anew=False)

    kept = record.load(figure, docs / "results/data")
    assert kept
    record.save(replace(kept, sources="others"), docs / "results/data")
    again = stale.look_at(figure, docs, 1, lambda *_: None)
    assert again == stale.Verdict(figure.name, "", anew=True), "other sources, the same page"

    page = docs / "results/expresspass-fig10.md"
    page.write_text(page.read_text("utf-8") + "more\n", "utf-8")
    assert "text" in stale.look_at(figure, docs, 1, lambda *_: None).stale

    record.save(replace(kept, spot=(kept.spot[0], "another"), result="another"), docs / "results/data")
    assert "simulations" in stale.look_at(figure, docs, 1, lambda *_: None).stale


def test_a_page_is_compared_without_the_cpu_time_of_the_machine() -> None:
    def page(cpu: str, drops: int) -> str:
        table = f"| transport | cpu s | drops |\n|---|--:|--:|\n| dctcp | {cpu} | {drops} |\n"
        return f"`clearway reproduce x`: {cpu} s\n\n{table}"

    assert stale.body(page("1.5", 7)) == stale.body(page("2.5", 7))
    assert stale.body(page("1.5", 7)) != stale.body(page("1.5", 8))


def test_a_hash_of_scenarios_does_not_depend_on_where_the_package_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    def at(place: str) -> str:
        monkeypatch.setattr(sources, "HOME", place)
        return record.jobs_hash([Job({"seed": 1}, {"traffic": [{"path": f"{place}/pac/a.txt"}]})])

    assert at("/work/a") == at("/home/b")
