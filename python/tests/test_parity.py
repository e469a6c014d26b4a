"""Parity: the same lists everywhere, the formats that users bring, and numbers of the authors' simulators."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli

from clearway.parity import CASES
from clearway.parity.case import Case, csv, digest
from clearway.parity.flowlists import draw_size, poisson
from clearway.parity.judge import compared
from clearway.parity.known import known
from clearway.parity.lists import Row, compare, joined, run_list
from clearway.parity.page import columns, footnotes

NS2 = CASES["ns2"]


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_every_list_is_the_one_that_was_measured(case: object) -> None:
    case = CASES[case.name]  # type: ignore[attr-defined]
    for flows in case.lists:
        reference = case.reference(flows)
        if reference is not None:
            assert digest(csv(flows.make())) == reference.sha256, flows.name
        else:
            assert case is not NS2, f"{flows.name} was not measured"


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_every_run_of_the_authors_code_counts_the_flows_of_its_list_and_differs_from_the_others(case: Case) -> None:
    for flows in case.lists:
        reference = case.reference(flows)
        assert reference is not None, flows.name
        sizes = flows.make()["size_bytes"]
        buckets = [*case.buckets, ("all", 0, float("inf"))]
        made = {name: int(((sizes >= low) & (sizes < high)).sum()) for name, low, high in buckets}
        for draw in reference.draws:
            found = {name: row["flows"] for name, row in draw.items()}
            assert found == {name: count for name, count in made.items() if count}, flows.name
        assert len({draw["all"]["mean_s"] for draw in reference.draws}) == len(reference.draws), flows.name


def test_sizes_lie_on_straight_lines_between_the_points() -> None:
    cdf = ((100, 0.25), (300, 0.75), (1000, 1))
    assert [draw_size(cdf, share) for share in (0, 0.25, 0.5, 0.75, 0.999)] == [100, 100, 200, 300, 998]


def test_a_list_has_two_different_hosts_for_each_flow_and_the_rate_asked_for() -> None:
    flows = poisson(((500, 0), (500, 1)), flows=20_000, hosts=4, interval_s=1e-6, first_s=0.1, seed=3)
    assert (flows["src"] != flows["dst"]).all()
    assert flows["start_ns"][0] == 100_000_000
    assert flows["start_ns"].is_sorted()
    assert 0.98 < (flows["start_ns"][-1] - flows["start_ns"][0]) / 20e6 < 1.02
    pairs = flows.group_by("src", "dst").len()["len"]
    assert (len(pairs), 1_500 < pairs.min() < pairs.max() < 1_850) == (12, True)  # type: ignore[operator]


def test_web_server_flows_take_as_long_as_in_the_authors_code() -> None:
    flows = next(flows for flows in NS2.lists if flows.name == "web-server-1")
    for row in compare(NS2, flows, seeds=3):
        assert row.unfinished == 0, row
        assert abs(row.measures["mean"].ratio - 1) < 0.06, row


def test_lone_flows_take_to_a_tenth_of_a_microsecond_as_long_as_in_the_authors_code(tmp_path: Path) -> None:
    """Measured with ns2-xpass f4e38bc; its random sizes of credits move these times by up to 0.06 us."""
    measured = {
        (191, 1): 76.2000, (191, 1000): 80.9856, (191, 1460): 83.1840,
        (1, 1): 27.4128, (1, 1000): 28.9888, (1, 1460): 29.7392,
        (12, 1): 51.7936, (12, 1000): 54.9744, (12, 1460): 56.4848,
    }  # fmt: skip
    rows = [(1_000_000 * index, 0, dst, size) for index, (dst, size) in enumerate(measured)]
    flows = pl.DataFrame(rows, schema=["start_ns", "src", "dst", "size_bytes"], orient="row")
    path = tmp_path / "lone.csv"
    path.write_text(csv(flows))
    run = run_list(NS2, path)
    assert (run.flows["fct_s"] * 1e6).to_list() == pytest.approx(list(measured.values()), abs=0.1)
    assert run.flows["credits_wasted"].sum() == 0
    assert run.summary["credits"]["sent"] == len(measured)


def test_the_interval_of_a_mean_is_that_of_students_t() -> None:
    """Of 1, 2, 3: mean 2, deviation 1, two degrees of freedom, for which t is 4.303."""
    both = compared([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert both.ours == both.theirs
    assert (both.ours.high - 2, 2 - both.ours.low) == pytest.approx((4.3027 / 3**0.5, 4.3027 / 3**0.5), abs=1e-3)


def test_identical_draws_agree_and_draws_shifted_beyond_both_intervals_do_not() -> None:
    draws = [9.0, 10.0, 11.0]
    half = 4.3027 / 3**0.5
    assert compared(draws, draws).agrees
    assert compared([one + 1.99 * half for one in draws], draws).agrees
    apart = compared([one + 2.01 * half for one in draws], draws)
    assert apart.agrees is False
    low, high = apart.apart
    assert low == pytest.approx((10 + 1.01 * half) / (10 + half) - 1, abs=1e-4)
    assert high == pytest.approx((10 + 3.01 * half) / (10 - half) - 1, abs=1e-3)


def test_a_run_that_stands_alone_scatters_as_the_other_side_does() -> None:
    both = compared([9.0, 10.0, 11.0], [30.0])
    assert (both.theirs.low, both.theirs.high) == pytest.approx((30 - 4.3027, 30 + 4.3027), abs=1e-3)
    assert compared([30.0], [9.0, 10.0, 11.0]).ours == both.theirs
    assert both.agrees is False
    assert compared([1.0], [1.0]).agrees is None, "neither side has an interval"


def row(flows: int = 500, unfinished: int = 0, shift: float = 0.0, causes: dict[str, str] | None = None) -> Row:
    """A bucket of which our means lie so much above theirs, and 99th percentiles are the same."""
    draws = [(1.0, 5.0), (1.1, 5.1), (1.2, 5.2)]
    ours = [(mean + shift, p99) for mean, p99 in draws]
    return Row("list", "S", flows, unfinished, ours, draws, causes or {})


def test_a_99th_percentile_is_stated_of_500_flows_and_not_of_499() -> None:
    assert list(row(flows=500).measures) == ["mean", "p99"]
    assert list(row(flows=499).measures) == ["mean"]
    assert row(flows=500).p99_s == pytest.approx(5.1)
    assert columns(row(flows=499), "p99") == ["-"] * 4
    assert footnotes([row(flows=499)]) == ["", "-: a 99th percentile of fewer than 500 flows is not stated."]
    assert footnotes([row(flows=500)]) == []


def test_a_row_agrees_if_every_interval_overlaps_and_every_flow_ended() -> None:
    assert row().agrees is True
    assert row(shift=1.0).agrees is False
    assert row(unfinished=1).agrees is False
    assert Row("list", "S", 500, 0, [(1.0, 5.0)]).agrees is None


def test_only_a_difference_whose_cause_is_listed_passes() -> None:
    cause = "their switches drop a packet that ours keep"
    assert row().passes
    assert not row(shift=1.0).passes
    assert not row(shift=1.0, causes={"p99": cause}).passes, "the cause of another measure"
    known_row = row(shift=1.0, causes={"mean": cause})
    assert known_row.passes
    assert known_row.agrees is False
    assert footnotes([known_row])[-1] == f"Cause: {cause}"
    assert not row(unfinished=1, causes={"mean": cause}).passes


def test_a_difference_within_half_a_percent_at_both_ends_is_shown_and_fails_nothing() -> None:
    """A shift by twice the width of both intervals: from +0.2 to +0.6 % in the second case."""
    draws = [(1000.0, 5.0), (1000.1, 5.0), (1000.2, 5.0)]
    half = 4.3027 * 0.1 / 3**0.5

    def shifted(by: float) -> Row:
        return Row("list", "S", 400, 0, [(mean + by, p99) for mean, p99 in draws], draws)

    for sign in (1, -1):
        little, more = shifted(sign * (4.9 - 2 * half)), shifted(sign * (5.2 - 2 * half))
        assert little.agrees is False
        assert columns(little, "mean")[-1].startswith("differs by ")
        assert little.passes
        assert not more.passes, "it may be more than half a percent"


def test_a_row_that_differs_says_by_how_much_at_least_and_at_most() -> None:
    both = row(shift=1.0).measures["mean"]
    low, high = both.apart
    assert 0 < low < both.ratio - 1 < high
    assert columns(row(shift=1.0), "mean")[-1] == f"differs by {100 * low:+.1f} to {100 * high:+.1f} %"


def test_every_known_difference_is_one_of_a_list_and_size_that_exist() -> None:
    for one in known():
        assert set(one) == {"case", "list", "size", "measure", "cause"}
        case = CASES[one["case"]]
        assert one["list"] in [flows.name for flows in case.lists]
        assert one["size"] in [*(name for name, _, _ in case.buckets), "all"]
        assert one["measure"] in ("mean", "p99")


def test_the_draws_of_a_row_are_those_of_its_seeds() -> None:
    runs = [[Row("list", "S", 900, left, [(mean, 10 - mean)])] for mean, left in ((1.0, 0), (5.0, 2), (3.0, 0))]
    (found,) = joined(runs)
    assert found.draws == [(1.0, 9.0), (5.0, 5.0), (3.0, 7.0)]
    assert (found.mean_s, found.p99_s, found.unfinished) == (3.0, 7.0, 2)


def test_a_list_of_ones_own_comes_as_csv_or_as_the_authors_script_writes_it(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("start_ns,src,dst,size_bytes\n0,0,12,1000\n5000,1,191,20000\n")
    (tmp_path / "flowfile.tr").write_text("0.0 0 12 1000.0\n5e-06 1 191 20000.0\n")
    answers = []
    for name in ("mine.csv", "flowfile.tr"):
        done = cli("parity", "ns2", "--flows", name, "--seeds", 1, "--json")
        assert done.returncode == 0, done.stderr
        answers.append([(row["bucket"], row["mean_s"]) for row in json.loads(done.stdout)[0]["rows"]])
    assert answers[0] == answers[1]
    assert [bucket for bucket, _ in answers[0]] == ["S (< 10 KB)", "M (10-100 KB)", "all"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n0.1 0 12\n", "bad.txt:2: has 3 values for 4; write start-in-seconds src dst bytes"),
        ("inf 0 1 12\n", 'bad.txt:1: start: "inf" is no number; write a number such as 0.1'),
        ("0.1 0 -1 12\n", 'bad.txt:1: dst: "-1" is no number of a host'),
        ("0.1 0 1 1e30\n", 'bad.txt:1: bytes: "1e30" is too large'),
        ("0.1 0 1 5\n\n0.2 0 192 5\n", "bad.txt:3: dst: there is no host 192"),
        ("start_ns,src,dst,size_bytes\n0,0,192,5\n", "bad.txt"),
        ("", "bad.txt"),
    ],
)
def test_a_bad_list_is_refused_in_one_line(cli: Cli, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.txt").write_text(text)
    done = cli("parity", "ns2", "--flows", "bad.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["ns3"], "case 'ns3': write one of"),
        (["ns2", "--list", "x"], "list 'x' of case ns2: write one of web-search-1"),
        (["--flows", "x.csv"], "--flows and --list need a CASE"),
        (["ns2", "--flows", "missing.csv"], "missing.csv: can't be read as a list of flows: there is no such file"),
    ],
)
def test_what_is_not_there_is_refused(cli: Cli, args: list[str], words: str) -> None:
    done = cli("parity", *args)
    assert done.returncode == 2
    assert words in done.stderr


def test_the_lists_can_be_written_for_the_other_simulator(cli: Cli, tmp_path: Path) -> None:
    done = cli("parity", "ns2", "--write", "lists")
    assert done.returncode == 0, done.stderr
    reference = NS2.reference(NS2.lists[0])
    assert reference is not None
    assert reference.sha256 in done.stdout
    assert digest((tmp_path / "lists" / "ns2-web-search-1.csv").read_text()) == reference.sha256
