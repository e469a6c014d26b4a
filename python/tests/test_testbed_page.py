"""The page docs/evidence/linux.md says what the files of results say; results are written and read back as they are."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from conftest import REPOSITORY, Cli

from clearway._clearway import Error
from clearway.testbed.capture import Frames
from clearway.testbed.experiment import jain
from clearway.testbed.experiments import NAMES, find
from clearway.testbed.experiments.convergence import HOLD, WIDE_BIN_S, converged_s
from clearway.testbed.experiments.delay import processing_s
from clearway.testbed.experiments.incast import split
from clearway.testbed.page import DATA, PAGE, part_of, parts_elsewhere
from clearway.testbed.results import END, Results, Table, load, mark, part, part_on, quantiles, rewrite, thinned

DOCS = REPOSITORY / "docs"


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_the_results_say(name: str) -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    assert part_on(page, name) is not None, f"docs/evidence/linux.md has no place for {name}"
    expected = part_of(find(name), DOCS)
    assert (part_on(page, name) or "").strip() == (expected or "").strip(), "run `clearway testbed page`"


@pytest.mark.parametrize("name", [name for name in NAMES if find(name).also])
def test_other_pages_say_what_the_results_say(name: str) -> None:
    for page, expected in parts_elsewhere(find(name), DOCS).items():
        said = part_on((DOCS / page).read_text("utf-8"), name)
        assert said is not None, f"docs/{page} has no place for {name}"
        assert said.strip() == expected.strip(), "run `clearway testbed page`"


def test_every_file_of_results_is_of_an_experiment() -> None:
    assert {path.stem for path in (DOCS / DATA).glob("*.json")} <= set(NAMES)


def test_an_experiment_is_described_by_its_module() -> None:
    for name in NAMES:
        assert find(name).name == name
    with pytest.raises(Error, match="no such experiment 'godput'; did you mean"):
        find("godput")


def results() -> Results:
    found = Results("one", "One", "2026-11-22", 3.0, machine={"kernel": "6.18", "processors": "2 x any"}, load="Idle.")
    found.tables["numbers"] = Table(
        "A caption.", ["who", "how much", "met"], [["a", 1.25, True], ["b", math.nan, None]]
    )
    found.verdict("It is at least one.", "1.25", True)
    found.series["curve"] = {"time_s": [0.0, 1.0], "value": [1.0, 2.123456789]}
    return found


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    results().write(tmp_path)
    read = load(tmp_path / "results.json")
    assert read.verdicts == results().verdicts
    assert read.met
    assert read.series["curve"]["value"] == [1.0, 2.12346]
    assert read.tables["numbers"].texts() == [["a", "1.2", "yes"], ["b", "–", "–"]]
    assert (tmp_path / "numbers.csv").read_text() == "who,how much,met\na,1.25,True\nb,nan,\n"
    (tmp_path / "results.json").write_text(json.dumps({"name": "one"}))
    with pytest.raises(Error, match="no results"):
        load(tmp_path / "results.json")


def test_a_part_is_written_into_its_place_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{mark('one')}\nold\n{END}\nafter\n")
    new = part(results(), [("one.svg", "A picture")])
    rewrite(page, {"one": new})
    assert page.read_text().startswith(f"before\n{mark('one')}\n\n| asked |")
    assert page.read_text().endswith(f"\n{END}\nafter\n")
    assert part_on(page.read_text(), "one") == new
    with pytest.raises(Error, match="testbed: two"):
        rewrite(page, {"two": new})


def test_quantiles_and_thinned_values_keep_their_ends() -> None:
    assert thinned(range(10), 5) == [0, 2, 4, 6, 8]
    curve = quantiles(np.arange(1001))
    assert (curve["value"][0], curve["value"][-1], curve["share"][-1]) == (0, 1000, 1)
    assert quantiles([]) == {"share": [], "value": []}


def test_jains_index_is_one_for_equal_shares_and_an_nth_for_one_that_has_all() -> None:
    assert jain([3, 3, 3]) == pytest.approx(1)
    assert jain([1, 0, 0, 0]) == pytest.approx(0.25)
    assert math.isnan(jain([0, 0]))


def test_connections_are_split_evenly() -> None:
    assert split(32, 7) == [5, 5, 5, 5, 4, 4, 4]
    assert split(7, 7) == [1] * 7


def test_flows_have_converged_when_their_shares_stay_equal() -> None:
    first, second = np.array([90.0, 80, 50, 47, 45, 45, 45]), np.array([0.0, 10, 40, 45, 45, 46, 44])
    assert converged_s(first, second) == pytest.approx(2 * WIDE_BIN_S)
    assert math.isnan(converged_s(first, np.zeros(7)))


def test_flows_that_share_equally_for_a_bin_less_than_they_must_have_not_converged() -> None:
    def shares(fair: int) -> float:
        second = np.array([0.0, 10, *[45] * fair, 10, 0])
        return converged_s(90 - second, second)

    assert shares(HOLD) == pytest.approx(2 * WIDE_BIN_S)
    assert math.isnan(shares(HOLD - 1))


def frames(times: list[float], numbers: list[int]) -> Frames:
    count = len(times)
    columns: dict[str, object] = dict.fromkeys(
        ("control", "source", "destination", "source_port", "destination_port", "payload", "tos"), np.zeros(count)
    )
    columns |= {
        "time_s": np.array(times),
        "ip_id": np.array(numbers, np.uint64).astype(np.uint16),
        "number": np.array(numbers, np.uint64),
    }
    return Frames(columns)  # type: ignore[arg-type]


def test_the_time_for_a_credit_ends_with_the_packet_that_names_it() -> None:
    credit = frames([0.0, 1.0, 2.0], [65535, 65536, 65537])
    data = frames([0.25, 2.5], [65535, 1])
    assert processing_s(credit, data).tolist() == [0.25, 0.5]


def test_the_command_refuses_what_is_not_there(cli: Cli) -> None:
    done = cli("testbed", "run", "nothing")
    assert (done.returncode, "no such experiment" in done.stderr) == (2, True)
    done = cli("testbed", "run", "goodput", "--docs", "nowhere")
    assert (done.returncode, "nowhere/evidence/linux.md: there is no such page" in done.stderr) == (2, True)
    assert "goodput" in cli("testbed", "list").stdout
