"""The rule by which claims are judged: intervals, verdicts, the scoreboard, and pages that went stale."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clearway
from clearway import reproduce
from clearway.jobs import sources
from clearway.reproduce import Claim, Figure, Finding, Job, judge, readers, record, rules, scoreboard, stale, stats
from clearway.reproduce.causes import Cause, Evidence
from clearway.reproduce.expresspass import common, fig10
from clearway.reproduce.rules import Condition, Rule
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
    assert judge.judge(claimed(1.0), stats.estimate(values)).verdict == "not reproduced"


def test_a_percentile_needs_ten_values_beyond_it() -> None:
    assert math.isnan(stats.percentile(np.arange(999.0), 99))
    assert stats.percentile(np.arange(1000.0), 99) == pytest.approx(989.01)
    assert math.isnan(stats.percentile(np.arange(19.0), 50))


def held(*conditions: Condition, statistic: rules.Statistic = "mean") -> Rule:
    return Rule(conditions, statistic)


@pytest.fixture
def by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Rule], None]:
    """Gives every claim a rule."""

    def give(rule: Rule) -> None:
        monkeypatch.setattr(judge, "rule", lambda *_: rule)

    return give


@pytest.mark.parametrize(
    ("low", "high", "trend", "verdict"),
    [
        (95, 105, None, "reproduced"),
        (90, 110, None, "reproduced"),
        (85, 105, None, "undecidable"),
        (111, 120, None, "not reproduced"),
        (50, 150, None, "undecidable"),
        (95, 105, (1.1, 1.2), "reproduced"),
        (95, 111, (1.1, 1.2), "trend reproduced"),
        (111, 120, (1.1, 1.2), "trend reproduced"),
        (111, 120, (0.8, 0.9), "not reproduced"),
        (95, 111, (0.8, 0.9), "not reproduced"),
        (95, 105, (0.8, 0.9), "not reproduced"),
        (95, 105, (0.9, 1.1), "undecidable"),
        (111, 120, (0.9, 1.1), "not reproduced"),
    ],
)
def test_a_number_is_judged_by_its_whole_interval_and_never_holds_where_its_trend_is_false(
    low: float, high: float, trend: tuple[float, float] | None, verdict: str, by: Callable[[Rule], None]
) -> None:
    measured = {"value": Estimate((low + high) / 2, low, high, 5)}
    if trend:
        by(held(Condition("A takes longer than B", "A over B", least=1)))
        measured["A over B"] = Estimate(sum(trend) / 2, *trend, 5)
    found = judge.judge(claimed(100.0), measured)
    assert (found.verdict, found.seeds) == (verdict, 5)
    assert ("A takes longer than B" in found.note) == (trend in ((0.8, 0.9), (0.9, 1.1)))


def test_a_pattern_holds_only_if_all_that_it_names_do(by: Callable[[Rule], None]) -> None:
    by(held(Condition("gains most", "gain over *", least=1)))
    gains = {"gain over DCTCP": 1.5, "gain over RCP": 0.33}
    found = judge.judge(claimed({"min": 1.5, "max": 3.5}), {"min": 1.5, "max": 3.4, **gains})
    assert (found.verdict, found.note) == ("not reproduced", "fails: gains most"), "although both numbers are right"
    assert judge.judge(claimed({}), {**gains, "gain over RCP": 1}).verdict == "reproduced"


def test_quantities_that_a_rule_needs_may_not_be_missing_and_none_may_be_measured_for_nothing(
    by: Callable[[Rule], None],
) -> None:
    by(held(Condition("gains most", "gain over *", least=1)))
    with pytest.raises(ValueError, match=r"needs the quantity 'gain over \*'; measured are value"):
        judge.judge(claimed(1.0), 1.0)
    with pytest.raises(ValueError, match="'gian' is neither a number of the claim nor in a condition"):
        judge.judge(claimed(1.0), {"value": 1, "gain over DCTCP": 2, "gian": 3})
    by(Rule())
    with pytest.raises(ValueError, match="no measured value for its number"):
        judge.judge(claimed(1.0), {})
    with pytest.raises(ValueError, match="a claim without a number needs conditions"):
        judge.judge(claimed({}), {})


def test_the_declared_statistic_is_judged(by: Callable[[Rule], None]) -> None:
    draws = stats.estimate([1.0, 2.0, 2.0, 3.0, 92.0])
    assert draws.mean == 20
    by(held(statistic="median"))
    assert judge.judge(claimed(2.0, 0.5), draws).measured == "2 (1 to 92) us"
    by(held())
    assert judge.judge(claimed(2.0, 0.5), draws).measured.startswith("20 (")
    many = stats.estimate([float(n) for n in range(1, 21)]).median()
    assert (many.mean, many.low, many.high) == (10.5, 6, 15), "P(6th <= median <= 15th of 20) is 95.9 %"
    with pytest.raises(ValueError, match="computed from other ones"):
        Estimate(1, 0, 2, 5).median()


def test_a_claim_that_fails_by_default_and_holds_under_a_reading_says_which() -> None:
    found = judge.judge(claimed(100.0), {"value": 50}, readings={"other": {"value": 60}, "ns2": {"value": 101}})
    assert (found.verdict, found.reading, found.measured) == ("holds under a reading", "ns2", "50 us")
    assert found.note == "under `ns2`: 101 us"
    assert judge.judge(claimed(100.0), {"value": 99}, readings={"ns2": {"value": 1}}).reading == "default"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[a]\nlimit = 3", "unknown key 'limit'"),
        ('[a]\nstatistic = "mode"', "statistic = 'mode': write mean or median"),
        ('[a]\nconditions = [{ says = "x", quantity = "y" }]', "and least or above, most or below, or both"),
        ('[a]\nconditions = [{ says = "x", quantity = "y", least = "halfway" }]', "one positive ratio"),
    ],
)
def test_a_rule_that_is_wrong_is_refused_in_a_line(text: str, says: str) -> None:
    with pytest.raises(clearway.Error, match=says):
        rules.parsed("pac.rules.toml: [a]", tomllib.loads(text)["a"], {})


@pytest.mark.parametrize("paper", scoreboard.PAPERS)
def test_every_rule_is_of_a_claim_and_the_same_claim_elsewhere_exists(paper: str) -> None:
    for name, rule in rules.rules(paper).items():
        if rule.same_as:
            other, _, claim = rule.same_as.partition("/")
            assert claim in reproduce.claims(other), f"{paper}/{name} is the same as {rule.same_as}"
            assert not rules.rule(other, claim).same_as, f"{rule.same_as} is counted where it stands"


def test_halfway_to_a_claimed_ratio_is_its_square_root() -> None:
    for value, limit in ((64, 8.0), ({"max": 0.25}, 0.5)):
        rule = rules.parsed("", {"conditions": [{"says": "far", "quantity": "value", "least": "halfway"}]}, value)
        assert rule.conditions[0].least == limit


def test_each_case_of_a_claim_is_judged_and_none_may_be_missing() -> None:
    both = claimed({"2": 98.0, "6": 97.8}, 0.02)
    assert judge.judge(both, {"2": 98, "6": 97}).verdict == "reproduced"
    assert judge.judge(both, {"2": 98, "6": 50}).verdict == "not reproduced"
    with pytest.raises(ValueError, match="no measured value for 6"):
        judge.judge(both, {"2": 98})
    with pytest.raises(ValueError, match="'3' is neither a number"):
        judge.judge(both, {"2": 98, "6": 97, "3": 1})
    nested = claimed({"10G": {"down": 577.3, "up": 19.0}, "range": {"min": 1, "max": 2}})
    assert nested.cases == ("10G/down", "10G/up", "range")
    assert judge.judge(nested, {"10G/down": 560, "10G/up": 19, "range": 1.5}).verdict == "reproduced"
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
    assert judge.judge(claimed(value, kind="bound"), measured).verdict == verdict


def test_a_statement_holds_if_all_its_parts_do(by: Callable[[Rule], None]) -> None:
    by(held(*(Condition(f"{one} is longer", one, least=1) for one in "ABC")))
    above, open_, below = Estimate(1.2, 1.1, 1.3, 5), Estimate(1, 0.9, 1.1, 5), Estimate(0.9, 0.8, 0.99, 5)
    here = claimed({}, kind="ordering")
    assert judge.judge(here, {"A": above, "B": above, "C": above}).verdict == "reproduced"
    fails = judge.judge(here, {"A": above, "B": below, "C": open_})
    assert (fails.verdict, fails.note) == ("not reproduced", "fails: B is longer")
    assert judge.judge(here, {"A": above, "B": above, "C": open_}).verdict == "undecidable"
    assert judge.judge(here, {"A": above, "B": above, "C": Estimate(NAN, NAN, NAN, 5)}).verdict == "not reproduced"


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
    page = readers.board.all_claims(scores, known)
    assert "`abstract-40x-more-senders`" in page
    assert page.count("**none**") == 237


def scored(verdict: Any, cells: tuple[int, int] = (0, 0), claim: str = "abstract-40x-more-senders") -> scoreboard.Score:
    here = reproduce.claim("pac", claim)
    return scoreboard.Score("pac", here, replace(finding(verdict), claim=here, cells=cells), "pac/fig15")


def test_the_share_that_holds_is_of_the_claims_that_a_simulation_tests() -> None:
    rest = [scored(one) for one in ("arithmetic", "input", "contradicts itself", "not applicable")]
    tested = [scored(one) for one in ("reproduced", "trend reproduced", "holds under a reading", "not reproduced")]
    assert scoreboard.share([*rest, *tested]) == 3 / 4


def test_a_table_counts_by_the_share_of_its_cells() -> None:
    assert scoreboard.share([scored("reproduced", (4, 4)), scored("trend reproduced", (1, 4))]) == 5 / 8
    assert scoreboard.share([scored("trend reproduced", (0, 1))]) == 1, "a single number is no table"


def test_a_claim_that_stands_twice_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = scored("reproduced"), scored("reproduced", claim="abstract-no-spurious-timeout")
    other = scored("not reproduced", claim="fig01-general-idea")
    monkeypatch.setattr(
        scoreboard, "rule", lambda _, name: Rule(same_as=f"pac/{first.claim.id}" if name == second.claim.id else "")
    )
    assert scoreboard.once([first, second, other]) == [first, other]
    assert scoreboard.share([first, second, other]) == 1 / 2
    assert scoreboard.once([second, other]) == [second, other], "where the other one has no row, it counts"


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


def test_one_change_that_makes_a_claim_hold_is_its_cause(by: Callable[[Rule], None]) -> None:
    by(Rule((Condition("it is faster", "ratio", least=1),)))
    here = claimed(10, tolerance=0.1)
    measured = {"value": 40.0, "ratio": 0.5}
    mended = judge.Change("Its window.", {"value": 10.5, "ratio": 2.0})
    found = judge.judge(here, measured, cause=mended)
    assert found.verdict == "not reproduced"
    assert found.cause is not None
    assert (found.cause.kind, found.cause.says.startswith("Its window.")) == ("one change", True)


@pytest.mark.parametrize(
    ("value", "kind"), [(20.0, "in part"), (21.0, "not isolated"), (40.0, "not isolated"), (90.0, "not isolated")]
)
def test_a_change_that_leaves_more_than_half_of_the_distance_is_no_cause(
    by: Callable[[Rule], None], value: float, kind: str
) -> None:
    by(Rule())
    # The edge is 11, and halfway to it from 40 on a logarithmic scale is 20.98.
    found = judge.judge(claimed(10, tolerance=0.1), 40.0, cause=judge.Change("Its window.", value))
    assert found.cause is not None
    assert found.cause.kind == kind
    assert ("window" in found.cause.says) == (kind == "in part")


def test_a_change_that_mends_one_failing_part_of_two_is_a_cause_in_part(by: Callable[[Rule], None]) -> None:
    by(Rule((Condition("it is faster", "a", least=1), Condition("it is fairer", "b", least=1))))
    here = claimed({}, kind="trend")
    found = judge.judge(here, {"a": 0.5, "b": 0.5}, cause=judge.Change("Its start.", {"a": 1.5, "b": 0.5}))
    assert found.cause is not None
    assert found.cause.kind == "in part"


def test_a_change_that_fewer_runs_have_is_compared_with_the_same_runs_without_it(by: Callable[[Rule], None]) -> None:
    by(Rule())
    here, change = claimed(10, tolerance=0.1), judge.Change("Its window.", 30.0)
    kinds = [
        one.kind
        for before in (None, {"value": 90.0}, {"value": 40.0})
        if (one := judge.judge(here, 40.0, cause=replace(change, before=before)).cause)
    ]
    # From 40 and from 90 down to the edge at 11, halfway on a logarithmic scale is 20.98 and 31.46.
    assert kinds == ["not isolated", "in part", "not isolated"]


def test_the_strongest_of_several_causes_counts_and_a_claim_that_holds_has_none(by: Callable[[Rule], None]) -> None:
    by(Rule())
    evidence: list[Evidence] = [
        judge.Unstated("The buffer."),
        judge.Change("Its start.", 10.0),
        judge.Calculation("By arithmetic."),
    ]
    assert judge.judge(claimed(10), 10.0, cause=evidence).cause is None
    found = judge.judge(claimed(10), 40.0, cause=evidence)
    assert found.cause is not None
    assert found.cause.kind == "one change"


def test_a_claim_that_does_not_hold_without_evidence_is_not_isolated_and_an_open_interval_is_a_matter_of_seeds(
    by: Callable[[Rule], None],
) -> None:
    by(Rule())
    (failed, open_) = (judge.judge(claimed(10), value).cause for value in (40.0, Estimate(10, 5, 15, 5)))
    assert failed is not None
    assert open_ is not None
    assert (failed.kind, open_.kind) == ("not isolated", "seeds")
    unstated = judge.undecidable(claimed(10), "the buffer").cause
    assert unstated is not None
    assert (unstated.kind, unstated.says) == ("unstated", "the buffer")


def test_a_cause_outlives_its_record_and_the_board_counts_it() -> None:
    here = next(iter(reproduce.claims("pac").values()))
    found = Finding(here, "1", "not reproduced", cause=Cause("in part", "Its start."))
    assert record.Row.of(found, "pac").finding() == found
    score = scoreboard.Score("pac", here, found, "pac/fig13")
    assert scoreboard.causes([score]) == {"in part": 1}
