"""All cases once or several times: time and counts for each link transmission, memory, hash."""

from __future__ import annotations

import sys
import time
from typing import Any

from runs import LINE, Bench, Case, Counts, has_valgrind, machine

HEAD = (
    f"{'case':39} {'M tx':>8} {'M tx/s':>7} {'ns/tx':>7} {'instr/tx':>8} {'mispr/tx':>8} {'D1/tx':>6} {'I1/tx':>6} "
    f"{'ev/tx':>6} {'B/tx':>6} {'set-up s':>8} {'MB':>6} {'B/flow':>7}  hash"
)


def measure(bench: Bench, cases: list[Case], scale: float, rounds: int, *, instructions: bool) -> dict[str, Any]:
    """Runs the cases so many times in turn, prints the table and returns all that was measured.

    Of several rounds the least CPU time of each case counts: whatever else the machine does can only add to it.
    """
    print(f"{bench.build['kind']} build of {bench.build['commit'][:12]} with {bench.build['rustc']}")
    runs: dict[str, list[dict[str, Any]]] = {case.name: [] for case in cases}
    for number in range(rounds):
        for case in cases:
            tell(f"{case.name}, round {number + 1} of {rounds}")
            runs[case.name].append(bench.run(case, scale))
    counted: dict[str, Any] = {}
    if instructions and has_valgrind():
        tell("counting instructions")
        runs_of = [(case, case.counted_at, True) for case in cases if case.counted_at]
        counted = dict(zip((case.name for case, *_ in runs_of), bench.counts(runs_of), strict=True))
    tell("")
    print(HEAD)
    rows: dict[str, dict[str, Any]] = {}
    for case in cases:
        row = {**min(runs[case.name], key=lambda run: float(run["cpu_s"])), "name": case.name}
        row["cpu_s_all"] = [run["cpu_s"] for run in runs[case.name]]
        row["million_tx_per_cpu_s"] = row["link_transmissions"] / max(row["cpu_s"], 0.01) / 1e6
        if case.bare in rows:
            row["share_of_bare"] = row["million_tx_per_cpu_s"] / rows[case.bare]["million_tx_per_cpu_s"]
        if case.alone in rows:
            row["alone"] = case.alone
            row["speedup"] = rows[case.alone]["run_wall_s"] / row["run_wall_s"]
        if case.unseen in rows:
            row["unseen"] = case.unseen
            row["frames_cost"] = row["cpu_s"] / max(rows[case.unseen]["cpu_s"], 0.01) - 1
        if row["link_transmissions"]:
            row["events_per_tx"] = row["events"] / row["link_transmissions"]
        if row["flows"] and case.name.startswith("active"):
            row["bytes_per_flow"] = (row["run_bytes"] - row["model_bytes"]) / row["flows"]
        if counts := counted.get(case.name):
            row |= per_tx(counts)
        rows[case.name] = row
        print(line(row), flush=True)
    for row in rows.values():
        if "speedup" in row:
            same = "the same" if row["hash"] == rows[row["alone"]]["hash"] else "OTHER"
            print(
                f"{row['name']}: {row['speedup']:.2f} times as fast in elapsed time as {row['alone']}; {same} results"
            )
    for row in rows.values():
        if "frames_cost" in row:
            print(f"{row['name']}: {row['frames_cost']:+.0%} of the CPU time of {row['unseen']}")
    return {
        "machine": machine(),
        "build": bench.build,
        "day": time.strftime("%Y-%m-%d"),
        "scale": scale,
        "rounds": rounds,
        "cases": list(rows.values()),
    }


def tell(progress: str) -> None:
    """Shows on a terminal how far the measurement is, until the next line."""
    if sys.stderr.isatty():
        print(f"\r\033[K{progress}", end="", file=sys.stderr, flush=True)


def shown(value: float | None, form: str, factor: float = 1.0) -> str:
    """A number in this form; `-` if it was not measured."""
    return "-" if value is None else format(value * factor, form)


def ns_per_tx(row: dict[str, Any]) -> float | None:
    """The CPU time of a case for each link transmission, in nanoseconds; none if nothing was sent."""
    return row["cpu_s"] / row["link_transmissions"] * 1e9 if row["link_transmissions"] else None


def per_tx(counts: Counts) -> dict[str, float]:
    """The columns that follow from counts: each for a link transmission, lines fetched as bytes."""
    found = {f"{name}_per_tx": count / counts["link_transmissions"] for name, count in counts.items()}
    del found["link_transmissions_per_tx"]
    found["fetched_bytes_per_tx"] = found.pop("fetched_lines_per_tx") * LINE
    return found


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    speed = row["million_tx_per_cpu_s"] if row["link_transmissions"] else None
    return (
        f"{row['name']:39} {row['link_transmissions'] / 1e6:8.1f} {shown(speed, '.2f'):>7} "
        f"{shown(ns_per_tx(row), '.1f'):>7} "
        f"{shown(row.get('instructions_per_tx'), '.0f'):>8} {shown(row.get('mispredictions_per_tx'), '.2f'):>8} "
        f"{shown(row.get('data_misses_per_tx'), '.2f'):>6} {shown(row.get('instruction_misses_per_tx'), '.2f'):>6} "
        f"{shown(row.get('events_per_tx'), '.2f'):>6} {shown(row.get('fetched_bytes_per_tx'), '.0f'):>6} "
        f"{row['setup_cpu_s']:8.2f} {row['peak_bytes'] / 1e6:6.0f} {shown(row.get('bytes_per_flow'), '.0f'):>7}  "
        f"{row['hash'] or '-'}"
    )
