#!/usr/bin/env python3
"""Tries mutants of the code: `make mutants SHARD=n`.

    tools/mutants/mutate.py shard 0 --first 20
    tools/mutants/mutate.py again
    tools/mutants/mutate.py page --check

`shard` tries the mutants of a shard and writes its record to docs/data/mutants, mutant by mutant, so that a run that
was ended goes on; `again` tries those once more that survived, with the tests of now; both write
docs/evidence/mutants.md anew, as `page` does. Only the standard library is needed, and the programs that `make mutants`
installs.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from pathlib import Path

import evidence
import records
from drawing import SHARDS, Mutant, ProblemError, drawn, listed
from trials import STAGES, Outcome, Trials, commit_of, has_changed, has_test, slow

ROOT = evidence.ROOT
LISTER = ROOT / "target" / "tools" / "bin" / "cargo-mutants"
NEXTEST = ROOT / ".venv" / "bin" / "cargo-nextest"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="tools/mutants/mutate.py", description="Tries mutants of the code.")
    commands = found.add_subparsers(dest="command", required=True)
    shard = commands.add_parser("shard", help="tries the mutants of a shard")
    shard.add_argument("shard", type=int, help=f"the number of the shard, from 0 to {SHARDS - 1}")
    shard.add_argument("--draw", type=int, metavar="NUMBER", help="the draw that it belongs to (the newest so far)")
    shard.add_argument("--first", type=int, metavar="COUNT", help="only so many of them, which are a random sample too")
    again = commands.add_parser("again", help="tries survivors again, with the tests of now")
    again.add_argument("--files", nargs="+", default=[], metavar="NAME", help="only these files of slow tests")
    page = commands.add_parser("page", help="writes docs/evidence/mutants.md from the records")
    page.add_argument("--check", action="store_true", help="write nothing, and fail if the page is another")
    for each in (shard, again):
        each.add_argument("--nextest", type=Path, default=NEXTEST, help=f"the program ({NEXTEST.relative_to(ROOT)})")
        each.add_argument("--trusting", action="store_true", help="trust that the tests pass without a mutant")
    return found


def try_shard(number: int, first: int | None, draw: int | None, trials: Trials) -> None:
    """Tries the mutants of a shard that were not tried yet, or only the first of them, with all but the slow tests.

    A shard that is begun belongs to a draw, the newest if none is named.
    """
    mutants = listed(ROOT, LISTER)
    chosen = drawn(mutants, number)
    file = evidence.DATA / f"shard-{number}.json"
    commit = commit_of(ROOT)
    if file.exists():
        shard = records.read(file)
        if shard.commit != commit and has_changed(ROOT, shard.commit):
            raise ProblemError(
                f"{file.relative_to(ROOT)}: was begun at commit {shard.commit[:10]}, and this is {commit[:10]}: "
                "check that one out to go on, or try another shard"
            )
    else:
        day = datetime.date.today().isoformat()
        rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
        planned = [records.Trial.of(mutant) for mutant in chosen]
        draw = draw or max((shard.draw for shard in records.read_all(evidence.DATA)), default=1)
        shard = records.Shard(number, len(mutants), len(chosen), day, commit, rustc, planned, draw)
    by_key = {mutant.key: mutant for mutant in chosen}
    left = [trial for trial in shard.trials[: first or shard.size] if trial.outcome is None]
    if not left:
        print(f"shard {number}: all of its mutants that were asked for have been tried")
        return
    trials.prepare()
    trial_of = {trial.key: trial for trial in left}
    mutants = [by_key[trial.key] for trial in left]
    for at, (mutant, found) in enumerate(trials.each(mutants, STAGES)):
        trial = trial_of[mutant.key]
        trial.outcome, trial.by, trial.seconds = found.what, found.by, round(found.seconds, 1)
        say(f"{at + 1}/{len(left)}", trial, found)
        records.write(shard, file)
    evidence.write()


def try_again(trials: Trials, files: list[str]) -> None:
    """Tries all mutants again that survived the last time, where the code still has them, and a test could see them.

    The slow tests come first, alone: those that were there when the mutant was drawn complete its trial. Where code or
    tests have changed since, all tests of now follow. With `files`, the slow tests are those of these files alone; what
    survives them then has no new record.
    """
    commit = commit_of(ROOT)
    by_key: dict[str, Mutant] = {mutant.key: mutant for mutant in listed(ROOT, LISTER)}
    equivalent = {words for words, said in records.verdicts(evidence.JUDGED).items() if said.equivalent}
    shards = {
        trial.key: (trial, shard)
        for shard in records.read_all(evidence.DATA)
        for trial in shard.done
        if trial.last == "survived" and trial.words not in equivalent
    }
    for trial, _ in [shards.pop(key) for key in list(shards) if key not in by_key]:
        print(f"gone      {trial.file}: {trial.change}: the line was changed since")
    trials.prepare()
    for is_slow in (True, False):
        stages = {package: (() if is_slow else STAGES[package]) + slow(files) for package in STAGES}
        left = [
            by_key[key]
            for key, (trial, shard) in shards.items()
            if trial.last == "survived" and (not trial.thorough if is_slow else has_changed(ROOT, shard.commit))
        ]
        for mutant, found in trials.each(left, stages) if left else ():
            trial, shard = shards[mutant.key]
            if found.what != "survived" or not (is_slow or files):
                # The fast tests of then did not kill it, so that one that does is another by now.
                is_old = is_slow and found.by is not None and has_test(ROOT, shard.commit, found.by)
                trial.later = {"commit": commit, "outcome": found.what, "by": found.by, "is_old": is_old}
            trial.thorough |= is_slow and not files and found.what == "survived"
            say(f"shard {shard.shard}", trial, found)
            records.write(shard, evidence.DATA / f"shard-{shard.shard}.json")
    evidence.write()


def say(count: str, trial: records.Trial, found: Outcome) -> None:
    """Prints what came of a trial."""
    by = f" ({found.by})" if found.by else ""
    place = f"{trial.file}:{trial.line}"
    print(f"{count:8} {found.what:9} {found.seconds:5.0f} s  {place}: {trial.change}{by}", flush=True)


def main() -> int:
    """Runs a command and returns the exit status."""
    arguments = parser().parse_args()
    if arguments.command == "page":
        if arguments.check:
            return 0 if evidence.check() else 1
        evidence.write()
        return 0
    trials = Trials(ROOT, arguments.nextest, trusting=arguments.trusting)
    if arguments.command == "shard":
        try_shard(arguments.shard, arguments.first, arguments.draw, trials)
    else:
        try_again(trials, arguments.files)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ProblemError as problem:
        sys.exit(f"tools/mutants: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
