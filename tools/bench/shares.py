"""Shares of work and waiting on several threads, and the speed-up that follows from them: `make bench-shares`.

The program goes through all parts of a network one after the other on one thread, and notes the CPU time of each part
in each window. On as many processors as parts a window takes as long as its busiest part. So the run would take the sum
of these, what one thread does between windows, and the time to hand parts over, which is measured on as many threads as
there are processors. Where these suffice, the CPU time of each part is that on its own thread, whose caches hold
nothing of the other parts, and the elapsed time is measured too, which shows what the method is worth.

What follows is stated with an interval over runs of two lengths and all rounds. It leaves out what no measurement in
turn can show: that parts on processors of their own have more cache each, that all share the memory's bandwidth, and
that a thread may lose its processor.
"""

from __future__ import annotations

import time
from typing import Any

from measure import shown
from runs import Bench, machine

#: The cases of which shares are of interest: large networks under even traffic.
CASES = (
    "permutation-1024-dctcp",
    "permutation-1024-expresspass",
    "permutation-8192-dctcp",
    "permutation-8192-expresspass",
)
THREADS = (2, 4, 8, 16, 64)
#: The lengths of the runs, as parts of the scale. An interval spans them all; the other figures are of the first.
LENGTHS = (1.0, 0.5)
#: The times of which the least of several rounds counts, since whatever else the machine does can only add to them.
TIMES = ("work_s", "intake_s", "busiest_s", "longest_s", "small_s", "between_s")

#: Columns as (heading, key, form, factor).
COLUMNS = (
    ("threads", "threads", ".0f", 1.0),
    ("work", "work", ".0f", 100.0),
    ("busiest", "busiest", ".0f", 100.0),
    ("intake", "intake", ".0f", 100.0),
    ("waiting", "waiting", ".0f", 100.0),
    ("serial", "serial", ".0f", 100.0),
    ("hand-over", "handover", ".1f", 100.0),
    ("balance", "balance", ".2f", 1.0),
    ("speed-up that follows", "follows", ".2f", 1.0),
    ("at least", "follows_least", ".1f", 1.0),
    ("at most", "follows_most", ".1f", 1.0),
    ("measured", "measured", ".2f", 1.0),
)


def shares(bench: Bench, only: list[str], scale: float, rounds: int, threads: list[int]) -> dict[str, Any]:
    """Measures the shares of the cases, prints them and returns all that was measured."""
    print(f"{bench.build['kind']} build of {bench.build['commit'][:12]}; shares in % of the elapsed time that follows")
    print(" ".join(f"{heading:>9}" for heading, *_ in COLUMNS))
    rows = []
    for case in bench.chosen(only or list(CASES), long=True):
        if not only and case.name not in CASES:
            continue
        print(case.name)
        lengths = [[bench.shares(case, scale * length, threads) for _ in range(rounds)] for length in LENGTHS]
        for index in range(len(threads)):
            row = row_of(case.name, lengths[0], index) | interval(lengths, index)
            cells = [(shown(row[key], form, factor), max(9, len(heading))) for heading, key, form, factor in COLUMNS]
            print(" ".join(f"{cell:>{width}}" for cell, width in cells), flush=True)
            rows.append(row)
    return {
        "machine": machine(),
        "build": bench.build,
        "day": time.strftime("%Y-%m-%d"),
        "scale": scale,
        "rounds": rounds,
        "shares": rows,
    }


def interval(lengths: list[list[dict[str, Any]]], index: int) -> dict[str, float]:
    """The least and the largest speed-up that follows, over all lengths and each round alone."""
    follows = [row_of("", [run], index)["follows"] for runs in lengths for run in runs]
    return {"follows_least": min(follows), "follows_most": max(follows)}


def row_of(case: str, found: list[dict[str, Any]], index: int) -> dict[str, Any]:
    """The shares on one number of threads, by the least times of all rounds."""
    splits = [run["splits"][index] for run in found]
    times: dict[str, float] = {key: min(split[key] for split in splits) for key in TIMES}
    alone, alone_elapsed, handover = (
        min(float(run[key]) for run in found) for key in ("alone_cpu_s", "alone_s", "handover_s")
    )
    elapsed_s = min((split["elapsed_s"] for split in splits if split["elapsed_s"]), default=None)
    threads, windows = splits[0]["threads"], splits[0]["windows"]
    mean = (times["work_s"] + times["intake_s"]) / threads
    # A window can't be shorter than its parts on the average, even if that was measured in another round.
    longest = max(times["longest_s"], mean)
    serial = times["small_s"] + times["between_s"]
    handovers = handover * windows
    elapsed = longest + serial + handovers
    return {
        "name": case,
        "threads": threads,
        "windows": windows,
        "work": times["work_s"] / threads / elapsed,
        "busiest": times["busiest_s"] / elapsed,
        "intake": times["intake_s"] / threads / elapsed,
        "waiting": (longest - mean) / elapsed,
        "serial": serial / elapsed,
        "handover": handovers / elapsed,
        "balance": splits[0]["balance"],
        "follows": alone / elapsed,
        "measured": alone_elapsed / elapsed_s if elapsed_s else None,
        "alone_s": alone,
        "handover_us": handover * 1e6,
        "elapsed_s": elapsed_s,
        **times,
    }
