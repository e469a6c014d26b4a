"""Tests of `tools/bench` with programs that stand in for builds: measuring, comparing, counting instructions."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import REPOSITORY

BASELINE = REPOSITORY / "tools" / "bench" / "baseline.json"


def build(
    folder: Path,
    *,
    cpu_s: float = 1.0,
    rustc: str = "rustc 0.0.0",
    kind: str = "plain",
    cases: tuple[str, ...] = ("bare-2", "web-2"),
    counted_at: float = 0.0,
) -> Path:
    """A program that answers as a build does whose cases all take the same time."""
    folder.mkdir(parents=True)
    listed = {
        "build": kind,
        "commit": "0123456789abcdef",
        "rustc": rustc,
        "cases": [
            {"name": name, "bare": None, "alone": None, "long": False, "counted_at": counted_at} for name in cases
        ],
    }
    outcome = {
        "link_transmissions": 4_000_000,
        "events": 6_000_000,
        "flows": 2,
        "cpu_s": cpu_s,
        "setup_cpu_s": 0.0,
        "run_wall_s": cpu_s,
        "peak_bytes": 5_000_000,
        "model_bytes": 1_000_000,
        "run_bytes": 4_000_000,
        "hash": "abc",
    }
    program = folder / "clearway-bench"
    program.write_text(f"#!/bin/sh\n[ $1 = --list ] && echo '{json.dumps(listed)}' || echo '{json.dumps(outcome)}'\n")
    program.chmod(0o755)
    return program


def tool(*arguments: str | Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A run of the tool, with programs of a folder before all others."""
    found = os.environ["PATH"] if path is None else f"{path}:{os.environ['PATH']}"
    command = [sys.executable, REPOSITORY / "tools" / "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": found})


def counts(folder: Path, grown: str = "", factor: float = 1.0) -> Path:
    """A folder with a valgrind that counts the baseline of each case, one kind of counts so many times."""
    lines = []
    for name, known in json.loads(BASELINE.read_text("utf-8"))["cases"].items():
        found = {kind: round(count * (factor if kind == grown else 1)) for kind, count in known.items()}
        events = {"Ir": found["instructions"]}
        if "mispredictions" in found:
            events |= {
                "I1mr": found["instruction_misses"],
                "D1mr": found["data_misses"],
                "D1mw": 0,
                "ILmr": 3,
                "DLmr": 2,
                "DLmw": 1,
            }
            events |= {"Bcm": found["mispredictions"] - 5, "Bim": 5}
        lines.append(f"*{name}*) events='{' '.join(events)}' n='{' '.join(map(str, events.values()))}';;")
    folder.mkdir()
    (folder / "valgrind").write_text(
        '#!/bin/sh\ncase "$*" in\n' + "\n".join(lines) + "\nesac\n"
        'while [ "${1#-}" != "$1" -o "$1" = valgrind ]; do shift; done\n'
        '"$@"; echo "==1== Events    : $events" >&2; echo "==1== Collected : $n" >&2\n'
    )
    (folder / "valgrind").chmod(0o755)
    return folder


def test_a_case_is_measured_and_written_as_json(tmp_path: Path) -> None:
    done = tool("measure", "--program", build(tmp_path / "this"), "--only", "web", "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    (case,) = json.loads((tmp_path / "out.json").read_text("utf-8"))["cases"]
    assert (case["name"], case["million_tx_per_cpu_s"], case["events_per_tx"]) == ("web-2", 4.0, 1.5)


def test_a_build_twice_as_fast_is_twice_as_fast(tmp_path: Path) -> None:
    this, other = build(tmp_path / "this", cpu_s=0.5), build(tmp_path / "other", cpu_s=1.0)
    common = ("against", "--program", this, other, "--rounds", "3", "--json", tmp_path / "out.json", "--at-least")
    done = tool(*common, "2")
    assert done.returncode == 0, done.stderr
    assert [row["ratio"] for row in json.loads((tmp_path / "out.json").read_text("utf-8"))["cases"]] == [2.0, 2.0]
    done = tool(*common, "2.5")
    assert done.returncode == 1
    assert "every case is at least 2.5 times as fast: no" in done.stdout


def test_cases_that_the_other_build_lacks_are_named(tmp_path: Path) -> None:
    other = build(tmp_path / "other", cases=("web-2",))
    done = tool("against", "--program", build(tmp_path / "this"), other, "--rounds", "1")
    assert "bare-2: clearway-bench does not have this case" in done.stdout


@pytest.mark.parametrize(
    ("grown", "factor", "passes", "says"),
    [
        ("instructions", 1.02, True, "instructions (+2.0 %)"),
        ("instructions", 1.04, False, "which is 4.0 % more; 3 % are allowed"),
        ("mispredictions", 1.09, True, "branch mispredictions (+9.0 %)"),
        ("mispredictions", 1.12, False, "which is 12.0 % more; 10 % are allowed"),
        ("data_misses", 1.12, False, "first-level cache misses of data, and"),
        ("data_misses", 0.8, True, "takes fewer first-level cache misses of data than the baseline"),
        ("instruction_misses", 1.8, True, "first-level cache misses of instructions (+80.0 %)"),
    ],
)
def test_counts_that_grow_by_more_than_their_bound_fail(
    tmp_path: Path, grown: str, factor: float, passes: bool, says: str
) -> None:
    known = json.loads(BASELINE.read_text("utf-8"))
    program = build(tmp_path / "this", rustc=known["rustc"], kind=known["kind"], cases=tuple(known["cases"]))
    done = tool("count", "--program", program, path=counts(tmp_path / "bin", grown, factor))
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    assert says in done.stdout
    if not passes:
        before = known["cases"]["permutation-128-dctcp"][grown]
        (told,) = (line for line in done.stdout.splitlines() if line.startswith("permutation-128-dctcp: takes"))
        assert str(before) in told
        assert str(round(before * factor)) in told
        assert "run `make bench-baseline`" in told


def test_a_measured_case_states_nanoseconds_and_counts_for_each_transmission(tmp_path: Path) -> None:
    path = tmp_path / "bin"
    path.mkdir()
    events = {
        "Ir": 400e6,
        "I1mr": 2e6,
        "D1mr": 3e6,
        "D1mw": 1e6,
        "ILmr": 1e6,
        "DLmr": 0,
        "DLmw": 1e6,
        "Bcm": 7e6,
        "Bim": 1e6,
    }
    (path / "valgrind").write_text(
        f"#!/bin/sh\necho '{{\"link_transmissions\": 2000000}}'\necho 'Events : {' '.join(events)}' >&2\n"
        f"echo 'Collected : {' '.join(str(int(count)) for count in events.values())}' >&2\n"
    )
    (path / "valgrind").chmod(0o755)
    program, file = build(tmp_path / "this", counted_at=0.5), tmp_path / "out.json"
    done = tool("measure", "--program", program, "--only", "web", "--json", file, path=path)
    assert done.returncode == 0, done.stderr
    heads, row = done.stdout.splitlines()[-3:-1]
    assert "bare" not in heads
    # One second for four million transmissions.
    assert row.split()[2:8] == ["4.00", "250.0", "200", "4.00", "2.00", "1.00"]
    (case,) = json.loads(file.read_text("utf-8"))["cases"]
    assert [case[f"{kind}_per_tx"] for kind in ("data_misses", "instruction_misses", "fetched_bytes")] == [2, 1, 64]


def test_counts_of_another_compiler_are_not_compared(tmp_path: Path) -> None:
    done = tool("count", "--program", build(tmp_path / "this", rustc="rustc 9.9.9"))
    assert done.returncode == 0
    assert "counts are not compared: the baseline is of rustc" in done.stdout


def test_the_speedup_follows_from_the_longest_parts_and_what_one_thread_does(tmp_path: Path) -> None:
    program = build(tmp_path / "build")
    split = {
        "threads": 4,
        "windows": 100,
        "work_s": 2.0,
        "intake_s": 0.4,
        "busiest_s": 0.65,
        "longest_s": 0.7,
        "small_s": 0.05,
        "between_s": 0.15,
        "balance": 3.8,
        "elapsed_s": None,
    }
    found = {"alone_s": 3.1, "alone_cpu_s": 3.0, "handover_s": 1e-3, "splits": [split], "hash": "abc"}
    shorter = found | {"alone_cpu_s": 2.5}
    first, rest = program.read_text("utf-8").split("\n", 1)
    asked = '[ "$5" = --shares ] &&'
    shown = (
        f"{asked} [ \"$4\" = 0.5 ] && echo '{json.dumps(shorter)}' && exit\n{asked} echo '{json.dumps(found)}' && exit"
    )
    program.write_text(f"{first}\n{shown}\n{rest}")
    done = tool("shares", "--program", program, "--only", "web", "--threads", "4", "--json", tmp_path / "shares.json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "shares.json").read_text("utf-8"))["shares"]
    # 0.7 s in windows, 0.2 s on one thread, 100 times 1 ms for threads to hear of each other, however many they are.
    assert row["follows"] == pytest.approx(3.0)
    # Runs of half the length are a sixth slower.
    assert (row["follows_least"], row["follows_most"]) == pytest.approx((2.5, 3.0))
    shares = {key: row[key] for key in ("work", "intake", "waiting", "serial", "handover")}
    assert shares == pytest.approx({"work": 0.5, "intake": 0.1, "waiting": 0.1, "serial": 0.2, "handover": 0.1})
    assert sum(shares.values()) == pytest.approx(1)
    assert row["measured"] is None


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that writes the page of figures."""
    monkeypatch.syspath_prepend(REPOSITORY / "tools" / "bench")
    return importlib.import_module("page")


def test_a_goal_names_the_build_that_reaches_it(page: ModuleType) -> None:
    def found(share: float, instructions: float) -> dict[str, object]:
        row = {"name": "permutation-128-dctcp", "share_of_bare": share, "instructions_per_tx": instructions}
        return {"cases": [row]}

    lines = page.goals_of(found(0.66, 400.4), found(0.5, 380.0), None).splitlines()
    assert lines[2] == "| share of the bare loop, DCTCP, 128 hosts | at least 65 % | 66 % | 50 % | yes |"
    assert lines[3] == "| share of the bare loop, DCTCP, 1,024 hosts | at least 65 % | - | - | - |"
    assert lines[5] == "| instructions a transmission, DCTCP, 128 hosts | at most 380 | 400 | 380 | guided |"
    alone = page.goals_of(found(0.64, 400.4), None, None).splitlines()
    assert alone[2].endswith("| 64 % | - | **no** |")


def test_two_comparisons_stand_beside_each_other_and_count_the_cases_that_reach_the_goal(page: ModuleType) -> None:
    def found(kind: str, ratios: dict[str, float]) -> dict[str, object]:
        rows = [{"name": k, "ratio": v, "interval": [1, 2], "ratio_of_bests": v} for k, v in ratios.items()]
        build = {"kind": kind, "commit": "0123456789abcdef"}
        shared = {"day": "2026-01-02", "rounds": 3, "scale": 0.5, "geometric_mean": 1.5}
        return {"this": build, "other": {**build, "kind": "plain"}, **shared, "cases": rows}

    text = page.against_of([found("plain", {"bare-2": 2, "web": 1.59}), found("profile-guided", {"web": 1.6})])
    assert "3 times each on 2026-01-02, cases at 0.5 of their length" in text
    assert "plain build is 1.50, bare loops included, and 0 of its 1 other cases" in text
    assert "profile-guided build is 1.50, bare loops included, and 1 of its 1 other cases" in text
    assert text.splitlines()[-2:] == [
        "| `bare-2` | 2.00 | 1.00 to 2.00 | 2.00 | - | - | - |",
        "| `web` | 1.59 | 1.00 to 2.00 | 1.59 | 1.60 | 1.00 to 2.00 | 1.60 |",
    ]


def test_ratios_to_other_programs_stand_on_the_page_once_they_are_kept(page: ModuleType) -> None:
    assert "measured by hand" in page.peers_of(None)
    row = {"name": "ring", "ratio": 15.23, "interval": [14, 16.04], "ours_mean_us": 661, "theirs_mean_us": 662.04}
    found = {
        "machine": {"processors": 2, "processor": "AMD"},
        "build": {"kind": "plain", "commit": "0123456789abcdef"},
        "day": "2026-01-02",
        "rounds": 3,
        "load_average": [1.25, 1, 1],
        "comparisons": [row],
    }
    text = page.peers_of(found)
    assert "A plain build of `0123456789` ran 3 times beside each program on 2026-01-02, on 2 processors (AMD)" in text
    assert text.splitlines()[-1] == "| `ring` | 15.2 | 14.0 to 16.0 | 661.0 | 662.0 |"


def test_figures_of_a_guided_build_have_a_place_of_their_own(page: ModuleType, tmp_path: Path) -> None:
    for name, build in (("cases", "build"), ("against", "this")):
        for kind, place in (("plain", f"{name}.json"), ("profile-guided", f"{name}-guided.json")):
            (tmp_path / "found.json").write_text(json.dumps({build: {"kind": kind}}))
            assert page.place_of(name, tmp_path / "found.json") == page.DATA / place


def test_a_program_that_lists_no_cases_is_refused(tmp_path: Path) -> None:
    done = tool("measure", "--program", tmp_path / "none")
    assert done.returncode == 1
    assert done.stderr == f"tools/bench: {tmp_path / 'none'}: is no program; `make bench` builds it\n"


def test_counts_of_a_newer_build_stand_beside_the_times_of_before_and_the_page_says_so(page: ModuleType) -> None:
    def found(commit: str, instructions: float, cpu_s: float) -> dict[str, object]:
        rows = [
            {"name": "web", "cpu_s": cpu_s, "instructions_per_tx": instructions, "data_misses_per_tx": 3.0},
            {"name": "large", "cpu_s": cpu_s},
        ]
        return {"build": {"commit": commit}, "day": "2026-11-30", "machine": {}, "cases": rows}

    counts = page.counts_in(found("b" * 40, 380.0, 9.0))
    assert counts["cases"] == {"web": {"instructions_per_tx": 380.0, "data_misses_per_tx": 3.0}}
    web, large = page.with_counts(found("a" * 40, 400.0, 2.0), counts)["cases"]
    assert (web["instructions_per_tx"], web["cpu_s"], large) == (380.0, 2.0, {"name": "large", "cpu_s": 2.0})
    assert "commit `bbbbbbbbbb`, counted on 2026-11-30" in page.counts_of(counts)
    assert page.counts_of(None) == ""
    assert page.with_counts(found("a" * 40, 400.0, 2.0), None)["cases"][0]["instructions_per_tx"] == 400.0
