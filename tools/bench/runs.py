"""Runs of the benchmark's program: cases, times, instruction counts, and the machine that they ran on."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The function of the program within which callgrind counts.
COUNTED = "*outcome::counted*"
#: The branch predictor and the caches that callgrind models: 32 KiB for instructions, 32 KiB for data, and 2 MiB behind
#: both. They are fixed, since callgrind would take those of the machine otherwise.
MODEL = ("--branch-sim=yes", "--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=2097152,16,64")
LINE = 64
#: The counts that a model adds to instructions, each with the events of callgrind of which it is the sum: branches and
#: jumps that the predictor guessed wrong, accesses that missed the first-level caches, and lines fetched from
#: beyond the last.
MODELLED = {
    "mispredictions": ("Bcm", "Bim"),
    "data_misses": ("D1mr", "D1mw"),
    "instruction_misses": ("I1mr",),
    "fetched_lines": ("ILmr", "DLmr", "DLmw"),
}
#: The counts of a run by name, its link transmissions among them.
Counts = dict[str, int]


class ProblemError(Exception):
    """Something that the caller can put right."""


@dataclass(frozen=True)
class Case:
    """A case, as the program lists it."""

    name: str
    bare: str | None
    alone: str | None
    unseen: str | None
    long: bool
    counted_at: float


class Bench:
    """A build of the program."""

    def __init__(self, program: Path) -> None:
        if not os.access(program, os.X_OK):
            raise ProblemError(f"{program}: is no program; `make bench` builds it")
        self.program = program.resolve()
        try:
            listed = json.loads(self._output(["--list"]))
        except ValueError:
            raise ProblemError(f"{program}: lists no cases: it was built before `tools/bench` was there") from None
        self.build = {"kind": listed["build"], "commit": listed["commit"], "rustc": listed["rustc"]}
        # A build from before there were threads, or frames, does not say what their cases are compared with.
        self.cases = [Case(**{"alone": None, "unseen": None, **case}) for case in listed["cases"]]

    def chosen(self, only: list[str], *, long: bool) -> list[Case]:
        """The cases whose name contains one of these texts, all if there is none; long ones if asked for."""
        known = [case for case in self.cases if long or not case.long]
        found = [case for case in known if not only or any(text in case.name for text in only)]
        if not found:
            raise ProblemError(
                f"--only {' '.join(only)}: there is no such case, only {', '.join(c.name for c in known)}"
            )
        return found

    def run(self, case: Case, scale: float) -> dict[str, Any]:
        """Runs a case in a process of its own, so that its peak memory is that of no other case."""
        outcome: dict[str, Any] = json.loads(self._output(["--case", case.name, "--scale", str(scale)]))
        return outcome

    def shares(self, case: Case, scale: float, threads: list[int]) -> dict[str, Any]:
        """Measures how the work of a case divides among these numbers of threads."""
        numbers = map(str, threads)
        outcome: dict[str, Any] = json.loads(
            self._output(["--case", case.name, "--scale", str(scale), "--shares", *numbers])
        )
        return outcome

    def count(self, case: Case, scale: float, *, modelled: bool) -> Counts:
        """Counts the instructions of a run from its first event to its last, with callgrind.

        If modelled, mispredictions and cache misses are counted too, which takes nearly three times as long.
        """
        with tempfile.TemporaryDirectory() as folder:
            before = [
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={folder}/out",
                "--collect-atstart=no",
                f"--toggle-collect={COUNTED}",
                *(MODEL if modelled else ()),
            ]
            command = [*before, str(self.program), "--case", case.name, "--scale", str(scale)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        events = re.search(r"Events\s*: (.*)", done.stderr)
        collected = re.search(r"Collected\s*: (.*)", done.stderr)
        if done.returncode != 0 or not events or not collected:
            raise ProblemError(f"valgrind fails for {case.name}: {done.stderr.strip()[-400:]}")
        found = dict(zip(events[1].split(), map(int, collected[1].split()), strict=True))
        if not found["Ir"]:
            raise ProblemError(f"{case.name}: callgrind does not find {COUNTED} in {self.program}")
        counts = {"link_transmissions": json.loads(done.stdout)["link_transmissions"], "instructions": found["Ir"]}
        if modelled:
            counts |= {name: sum(found[event] for event in events) for name, events in MODELLED.items()}
        return counts

    def counts(self, cases: list[tuple[Case, float, bool]]) -> list[Counts]:
        """Counts several runs (a case, its scale, and whether branches and caches are modelled).

        As many run at a time as there are processors: counts don't depend on what else runs.
        """
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return list(pool.map(lambda run: self.count(*run[:2], modelled=run[2]), cases))

    def _output(self, arguments: list[str]) -> str:
        done = subprocess.run([str(self.program), *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ProblemError(f"{self.program} {' '.join(arguments)}: {done.stderr.strip() or done.returncode}")
        return done.stdout


def has_valgrind() -> bool:
    """Whether instructions can be counted; says so if not."""
    if shutil.which("valgrind"):
        return True
    print("valgrind is not here (apt-get install valgrind), so no instructions are counted")
    return False


def machine() -> dict[str, Any]:
    """The machine, as far as its speed depends on it."""
    cpuinfo = Path("/proc/cpuinfo").read_text("utf-8")
    model = re.search(r"model name\s*: (.*)", cpuinfo)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": model[1].strip() if model else platform.machine(),
        "processors": os.cpu_count(),
        "memory_gb": round(memory / 1e9),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "glibc": platform.libc_ver()[1],
    }
