"""Measures speed and memory: `make bench`, `bench-full`, `bench-against`, `bench-peers`, `bench-shares`, `bench-count`.

    python3 tools/bench measure --only 128 --rounds 3
    python3 tools/bench against target/other/clearway-bench --at-least 1.6 --json out/against.json
    python3 tools/bench count

Only the standard library is needed, and the program that `cargo build --release -p clearway-bench` builds.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import against
import baseline
import page as pages
import peers
import shares as divided
from measure import measure
from runs import Bench, ProblemError

PROGRAM = Path("target/release/clearway-bench")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="tools/bench", description="Measures the simulator's speed and memory.")
    commands = found.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--program", type=Path, default=PROGRAM, help=f"the build to run ({PROGRAM})")
        return added

    measured = command("measure", "Runs the cases and prints speed, counts and memory of each.")
    paired = command(
        "against", "Runs the cases with this build and another in turns, and prints how many times as fast."
    )
    paired.add_argument("other", type=Path, help="the program of the other build")
    paired.add_argument(
        "--at-least", type=float, metavar="RATIO", help="fail if a case is less than so many times as fast"
    )
    beside = command("peers", "Runs the same flows with htsim's programs in turns, and prints how many times as fast.")
    beside.add_argument("--uec", type=Path, metavar="PROGRAM", help="the htsim_uec of a build of uet-htsim")
    beside.add_argument(
        "--htsim",
        type=Path,
        metavar="FOLDER",
        help="the folder with htsim_eqds and htsim_ndp of uet-htsim or csg-htsim",
    )
    split = command("shares", "Measures how work divides among threads, and the speed-up that follows from it.")
    split.add_argument("--threads", type=int, nargs="+", default=list(divided.THREADS), help="numbers of threads")
    for each, rounds in ((measured, 1), (paired, 5), (beside, 3), (split, 3)):
        each.add_argument(
            "--only", action="append", default=[], metavar="TEXT", help="only cases whose name contains this"
        )
        if each in (measured, paired):
            each.add_argument("--full", action="store_true", help="long cases too, of minutes and gigabytes")
        each.add_argument("--scale", type=float, default=1.0, help="the length of each case relative to its normal one")
        each.add_argument("--rounds", type=int, default=rounds, help=f"how often each case runs ({rounds})")
        each.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured to this file")
    measured.add_argument(
        "--no-instructions",
        action="store_true",
        help="count no instructions, mispredictions and misses, which takes minutes",
    )
    counting = command("count", "Compares counts with the committed baseline; fails if one grew too much.")
    counting.add_argument("--renew", action="store_true", help="write the baseline anew instead")
    page = commands.add_parser("page", help="Writes docs/results/speed.md from measurements.")
    for name, wrote in (("cases", "measure"), ("against", "against")):
        text = f"take over what `{wrote} --json` wrote here; once for a plain build, once for a profile-guided one"
        page.add_argument(f"--{name}", type=Path, metavar="FILE", action="append", default=[], help=text)
    for name in ("shares", "peers"):
        page.add_argument(f"--{name}", type=Path, metavar="FILE", help=f"take over what `{name} --json` wrote here")
    text = "take over only what callgrind counted from what `measure --json` wrote here, beside the times of before"
    page.add_argument("--counts", type=Path, metavar="FILE", help=text)
    page.add_argument("--check", action="store_true", help="write nothing, and fail if the page is another")
    return found


def write(found: dict[str, Any], file: Path | None) -> None:
    """Writes what was measured, if a file was named."""
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        print(f"{file}: all that was measured")


def main() -> int:
    """Runs a command and returns the exit status."""
    arguments = parser().parse_args()
    if arguments.command == "page":
        if arguments.check:
            return 0 if pages.check() else 1
        pages.write(arguments.cases, arguments.against, arguments.shares, arguments.peers, arguments.counts)
        return 0
    bench = Bench(arguments.program)
    if arguments.command == "count":
        if arguments.renew:
            baseline.renew(bench)
            return 0
        return 0 if baseline.check(bench) else 1
    if arguments.rounds < 1:
        raise ProblemError(f"--rounds {arguments.rounds}: must be at least 1")
    if arguments.command == "shares":
        found = divided.shares(bench, arguments.only, arguments.scale, arguments.rounds, arguments.threads)
        write(found, arguments.json)
        return 0
    if arguments.command == "peers":
        programs = peers.found_programs(arguments.uec, arguments.htsim)
        found, agree = peers.compare(bench, programs, arguments.only, arguments.scale, arguments.rounds)
        write(found, arguments.json)
        return 0 if agree else 1
    cases = bench.chosen(arguments.only, long=arguments.full)
    if arguments.command == "measure":
        wanted = not arguments.no_instructions
        write(measure(bench, cases, arguments.scale, arguments.rounds, instructions=wanted), arguments.json)
        return 0
    other = Bench(arguments.other)
    found, reached = against.compare(bench, other, cases, arguments.scale, arguments.rounds, arguments.at_least)
    write(found, arguments.json)
    return 0 if reached else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ProblemError as problem:
        sys.exit(f"tools/bench: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
