"""The instruction counts that CI holds against those committed in `baseline.json`.

Counts of one build repeat to within a few instructions. They change with the compiler, and so they are compared only if
it is the one of the baseline, and for builds of one kind: plain ones without link-time optimisation, most of which CI
has compiled already. glibc and valgrind move them by far less than the 3 % that are allowed.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

from runs import Bench, ProblemError, has_valgrind, machine

FILE = Path(__file__).parent / "baseline.json"
#: One case of each family.
CASES = (
    "permutation-128-dctcp",
    "permutation-128-expresspass",
    "websearch-192-expresspass",
    "websearch-320-hpcc",
    "websearch-320-pacc",
    "permutation-128-uec-nscc",
)
SCALE = 0.02
#: The growth that is allowed, in percent.
ALLOWED = 3.0


def conditions(bench: Bench) -> dict[str, Any]:
    """All that must be as it was for counts to be comparable."""
    build = {key: bench.build[key] for key in ("rustc", "kind")}
    return {**build, "architecture": platform.machine(), "scale": SCALE}


def counted(bench: Bench) -> dict[str, int]:
    """The instructions of each case."""
    known = {case.name: case for case in bench.cases}
    counts = bench.counts([(known[name], SCALE) for name in CASES], caches=False)
    return {name: count.instructions for name, count in zip(CASES, counts, strict=True)}


def renew(bench: Bench) -> None:
    """Writes the baseline anew."""
    if not has_valgrind():
        raise ProblemError("a baseline needs valgrind")
    found = {
        **conditions(bench),
        "glibc": machine()["glibc"],
        "instructions": counted(bench),
    }
    FILE.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    print(f"{FILE}: written; commit it and say why the counts changed")


def check(bench: Bench) -> bool:
    """Compares counts with the baseline, prints them, and returns false if one grew by more than is allowed."""
    known: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    for key, value in conditions(bench).items():
        if known[key] != value:
            print(
                f"instruction counts are not compared: the baseline is of {key} {known[key]!r} and this build of "
                f"{value!r} (`make bench-baseline` writes one for it)"
            )
            return True
    if not has_valgrind():
        return True
    passed = True
    for name, count in counted(bench).items():
        before = known["instructions"][name]
        change = (count / before - 1) * 100
        print(f"{name:31} {count / 1e6:8.1f} M instructions, {before / 1e6:8.1f} M in the baseline: {change:+.1f} %")
        if change > ALLOWED:
            passed = False
            print(
                f"{name}: takes {count} instructions and {before} in {FILE.name}, which is {change:.1f} % more; "
                f"{ALLOWED:g} % are allowed. If it is worth that, run `make bench-baseline`, and commit the new "
                "baseline with the reason."
            )
        elif change < -ALLOWED:
            print(f"{name}: is cheaper than the baseline; `make bench-baseline` keeps the gain from being lost again")
    return passed
