"""Two builds beside each other, in turns, so that whatever slows the machine slows both."""

from __future__ import annotations

import math
import random
import statistics
import time
from typing import Any

from runs import Bench, Case, ProblemError, machine

#: The resamples from which an interval comes.
RESAMPLES = 2000


def compare(
    this: Bench, other: Bench, cases: list[Case], scale: float, rounds: int, at_least: float | None
) -> tuple[dict[str, Any], bool]:
    """Runs each case so many times with both builds and prints how many times as fast this one is.

    Returns what was measured, and whether every case reaches `at_least`.
    """
    known = {case.name for case in other.cases}
    for case in cases:
        if case.name not in known:
            print(f"{case.name}: {other.program.name} does not have this case")
    cases = [case for case in cases if case.name in known]
    if not cases:
        raise ProblemError(f"{other.program}: has none of these cases")
    for word, bench in (("this", this), ("other", other)):
        print(f"{word + ':':6} {bench.build['kind']} build of {bench.build['commit'][:12]}, {bench.program}")
    print(f"{'case':31} {'other':>7} {'this':>7} {'ratio':>6} {'95 % interval':>15} {'of bests':>8}  (M tx/CPU-s)")
    rows = []
    for case in cases:
        row = pair(this, other, case, scale, rounds)
        rows.append(row)
        low, high = row["interval"]
        note = "" if row["same_results"] else "  other results"
        short = at_least is not None and row["ratio"] < at_least
        print(
            f"{case.name:31} {row['other']:7.2f} {row['this']:7.2f} {row['ratio']:6.2f} "
            f"{f'{low:.2f} to {high:.2f}':>15} "
            f"{row['ratio_of_bests']:8.2f}{'  < ' + format(at_least, 'g') if short else ''}{note}",
            flush=True,
        )
    ratios = [row["ratio"] for row in rows]
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    least = min(rows, key=lambda row: float(row["ratio"]))
    print(f"geometric mean {mean:.2f}; least {least['ratio']:.2f} ({least['name']})")
    reached = at_least is None or least["ratio"] >= at_least
    if at_least is not None:
        print(f"every case is at least {at_least:g} times as fast: {'yes' if reached else 'no'}")
    return {
        "machine": machine(),
        "this": this.build,
        "other": other.build,
        "day": time.strftime("%Y-%m-%d"),
        "scale": scale,
        "rounds": rounds,
        "geometric_mean": mean,
        "cases": rows,
    }, reached


def pair(this: Bench, other: Bench, case: Case, scale: float, rounds: int) -> dict[str, Any]:
    """Runs a case with both builds in turns: the median of the rounds' ratios, and its interval by bootstrap."""
    runs: dict[str, list[dict[str, Any]]] = {"this": [], "other": []}
    for number in range(rounds):
        turn = [("this", this), ("other", other)]
        for word, bench in turn if number % 2 else turn[::-1]:
            runs[word].append(bench.run(case, scale))
    speeds = {word: [speed(run) for run in found] for word, found in runs.items()}
    ratios = [mine / theirs for mine, theirs in zip(speeds["this"], speeds["other"], strict=True)]
    # One core's time for this; the elapsed time of several threads is compared by their own cases.
    best = {word: max(found) for word, found in speeds.items()}
    return {
        "name": case.name,
        "this": statistics.median(speeds["this"]),
        "other": statistics.median(speeds["other"]),
        "ratio": statistics.median(ratios),
        "interval": interval(ratios),
        "ratio_of_bests": best["this"] / best["other"],
        "ratios": ratios,
        "same_results": runs["this"][0]["hash"] == runs["other"][0]["hash"],
    }


def interval(ratios: list[float]) -> list[float]:
    """The 95 % interval of the median of ratios, by a bootstrap over them."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return [medians[RESAMPLES // 40], medians[-RESAMPLES // 40 - 1]]


def speed(run: dict[str, Any]) -> float:
    """Million link transmissions a CPU-second; runs a CPU-second where nothing is sent."""
    return float(run["link_transmissions"] / 1e6 or 1.0) / max(float(run["cpu_s"]), 0.01)
