"""Runs jobs of the quick reproduction with one thread and with several, and fails if any gives another result.

    .venv/bin/python tools/same_with_threads.py [PAPER[/FIGURE]] [--threads 2] [--cheapest N]

Flows, ports and samples are compared as tables, and the hashes of runs, which cover the books. `--cheapest N` takes the
N jobs of each figure that are estimated to take the least.
"""

from __future__ import annotations

import argparse
import sys
import time

from clearway.reproduce import find
from clearway.result import Run
from clearway.runner import load_scenario, simulate

#: Keys of a summary that say what a run cost.
COST = {"measured"}


def differences(one: Run, many: Run) -> list[str]:
    """Names of the parts of two runs that differ."""
    tables = [name for name in ("flows", "ports", "samples") if not getattr(one, name).equals(getattr(many, name))]
    keys = [key for key in one.summary if key not in COST and one.summary[key] != many.summary[key]]
    return tables + keys


def main() -> int:
    """Compares the jobs that the command names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", help="a paper or a figure; all without it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cheapest", type=int)
    options = parser.parse_args()
    compared, wrong, refused = 0, 0, 0
    for figure in find(options.what):
        jobs = [(job.label, load_scenario(job.scenario)) for job in figure.jobs("quick")]
        jobs.sort(key=lambda job: job[1].estimate()["cpu_s"])
        for label, scenario in jobs[: options.cheapest]:
            parts = scenario.partition(options.threads)["parts"]
            if parts == 1:
                refused += 1
                continue
            began = time.perf_counter()
            one, many = (simulate(scenario, threads=threads) for threads in (1, options.threads))
            found = differences(one, many)
            compared, wrong = compared + 1, wrong + bool(found)
            said = f"DIFFERS in {', '.join(found)}" if found else "equal"
            print(f"{figure.name}, {label}: {parts} parts, {time.perf_counter() - began:.1f} s: {said}", flush=True)
    print(f"{compared} jobs compared, {wrong} differ, {refused} run on one thread only")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
