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
from collections.abc import Callable
from pathlib import Path

import evidence
import records
from drawing import SHARDS, Mutant, ProblemError, drawn, listed
from trials import STAGES, Outcome, Round, Trials, commit_of, has_changed, has_test, slow

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
    shard.add_argument("--slow", action="store_true", help="try survivors of the draw with the slow tests besides")
    again = commands.add_parser("again", help="tries survivors again, with the tests of now")
    page = commands.add_parser("page", help="writes docs/evidence/mutants.md from the records")
    page.add_argument("--check", action="store_true", help="write nothing, and fail if the page is another")
    for each in (shard, again):
        each.add_argument("--files", nargs="+", default=[], metavar="NAME", help="only these files of slow tests")
        each.add_argument("--nextest", type=Path, default=NEXTEST, help=f"the program ({NEXTEST.relative_to(ROOT)})")
        each.add_argument("--trusting", action="store_true", help="trust that the tests pass without a mutant")
    return found


def try_shard(number: int, first: int | None, draw: int | None, trials: Trials, slowly: list[str] | None) -> None:
    """Tries the mutants of a shard that were not tried yet, or only the first of them, with all but the slow tests.

    A shard that is begun belongs to a draw, the newest if none is named. With `slowly`, survivors of the draw are tried
    with the slow tests besides, in the same build: with all of them, or with these files alone.
    """
    mutants = {mutant.key: mutant for mutant in listed(ROOT, LISTER)}
    shards = {each.shard: each for each in records.read_all(evidence.DATA)}
    shard = shards[number] = begun(number, draw, list(mutants.values()), shards)
    chosen = {trial.key: (trial, shard) for trial in shard.trials[: first or shard.size] if trial.outcome is None}
    is_visible = visible()
    if slowly is not None:
        for each in shards.values():
            if each.draw == shard.draw and not has_changed(ROOT, each.commit):
                left = [trial for trial in each.done if trial.awaits_slow and is_visible(trial)]
                chosen |= {trial.key: (trial, each) for trial in left}
    if not chosen:
        print(f"shard {number}: all of its mutants that were asked for have been tried")
        return
    trials.prepare()
    fast = Round(STAGES, lambda mutant: chosen[mutant.key][0].outcome is None)
    slow_round = Round(
        dict.fromkeys(STAGES, slow(slowly or [])),
        lambda mutant: chosen[mutant.key][0].awaits_slow and is_visible(chosen[mutant.key][0]),
    )
    rounds = [fast] if slowly is None else [fast, slow_round]
    for mutant, one, found in trials.each([mutants[key] for key in chosen], rounds):
        trial, its_shard = chosen[mutant.key]
        if one is fast:
            trial.outcome, trial.by, trial.seconds = found.what, found.by, round(found.seconds, 1)
        else:
            note_slow(trial, its_shard, found, slowly or [])
        say(f"shard {its_shard.shard}", trial, found)
        records.write(its_shard, evidence.DATA / f"shard-{its_shard.shard}.json")
    evidence.write()


def begun(number: int, draw: int | None, mutants: list[Mutant], shards: dict[int, records.Shard]) -> records.Shard:
    """The record of a shard, which is begun if there is none yet."""
    commit = commit_of(ROOT)
    if number in shards:
        shard = shards[number]
        if shard.commit != commit and has_changed(ROOT, shard.commit):
            raise ProblemError(
                f"shard {number} was begun at commit {shard.commit[:10]}, and this is {commit[:10]}: "
                "check that one out to go on, or try another shard"
            )
        return shard
    chosen = drawn(mutants, number)
    day = datetime.date.today().isoformat()
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    planned = [records.Trial.of(mutant) for mutant in chosen]
    draw = draw or max((shard.draw for shard in shards.values()), default=1)
    return records.Shard(number, len(mutants), len(chosen), day, commit, rustc, planned, draw)


def visible() -> Callable[[records.Trial], bool]:
    """Says of a trial whether some test could tell its mutant from the code, as far as is known."""
    equivalent = {words for words, said in records.verdicts(evidence.JUDGED).items() if said.equivalent}
    return lambda trial: trial.words not in equivalent


def note_slow(trial: records.Trial, shard: records.Shard, found: Outcome, files: list[str]) -> None:
    """Notes what came of a survivor by the slow tests, or by some files of them.

    A test that was there when the mutant was drawn completes its trial. The fast tests of then did not kill it.
    """
    if found.what == "survived":
        trial.thorough |= not files
    else:
        is_old = found.by is not None and has_test(ROOT, shard.commit, found.by)
        trial.later = {"commit": commit_of(ROOT), "outcome": found.what, "by": found.by, "is_old": is_old}


def try_again(trials: Trials, files: list[str]) -> None:
    """Tries all mutants again that survived the last time, where the code still has them, and a test could see them.

    The slow tests come first, alone: those that were there when the mutant was drawn complete its trial. Where code or
    tests have changed since, the fast tests of now follow. With `files`, the slow tests are those of these files alone;
    what survives them then has no new record.
    """
    commit, is_visible = commit_of(ROOT), visible()
    by_key: dict[str, Mutant] = {mutant.key: mutant for mutant in listed(ROOT, LISTER)}
    shards = {
        trial.key: (trial, shard)
        for shard in records.read_all(evidence.DATA)
        for trial in shard.done
        if trial.last == "survived" and is_visible(trial)
    }
    for trial, _ in [shards.pop(key) for key in list(shards) if key not in by_key]:
        print(f"gone      {trial.file}: {trial.change}: the line was changed since")
    old = {shard.shard for _, shard in shards.values() if has_changed(ROOT, shard.commit)}

    def is_changed(mutant: Mutant) -> bool:
        trial, shard = shards[mutant.key]
        return trial.last == "survived" and shard.shard in old

    slow_round = Round(dict.fromkeys(STAGES, slow(files)), lambda mutant: shards[mutant.key][0].awaits_slow)
    fast = Round(STAGES, is_changed)
    left = [by_key[key] for key in shards if slow_round.has(by_key[key]) or fast.has(by_key[key])]
    trials.prepare()
    for mutant, one, found in trials.each(left, [slow_round, fast]) if left else ():
        trial, shard = shards[mutant.key]
        if one is slow_round:
            note_slow(trial, shard, found, files)
        elif found.what != "survived" or not files:
            trial.later = {"commit": commit, "outcome": found.what, "by": found.by, "is_old": False}
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
        slowly = arguments.files if arguments.slow or arguments.files else None
        try_shard(arguments.shard, arguments.first, arguments.draw, trials, slowly)
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
