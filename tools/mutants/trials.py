"""Trials of mutants: each is applied to a copy of the repository, whose tests then run until one of them fails."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from drawing import Mutant, ProblemError

#: Packages are named together, so that all stages share what is built.
BOTH = ("-p", "clearway-proto", "-p", "clearway-sim")
#: Memory that a process of a trial may have, in bytes: a mutant that allocates without end ends itself.
MEMORY = 12 << 30
#: The longest that a stage may take, build included, in seconds; `.config/nextest.toml` has the limit of one test.
STAGE_S = 3600
#: Exit codes of nextest: a test failed, and something didn't compile.
FAILED, BROKEN = 100, 101
#: How the tests are built: fast to compile, as in CI, and with what the last trial has compiled.
ENVIRONMENT = {
    "CARGO_INCREMENTAL": "1",
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
    "NEXTEST_PROFILE": "mutants",
}


@dataclass(frozen=True)
class Stage:
    """Tests that run together, by the words that choose them."""

    name: str
    words: tuple[str, ...]


UNIT = {
    "clearway-proto": Stage("the unit tests of `proto`", ("-p", "clearway-proto", "--lib")),
    "clearway-sim": Stage("the unit tests of `sim`", (*BOTH, "--lib", "-E", "package(clearway-sim)")),
}
PROTO = Stage("the integration tests of `proto`", ("-p", "clearway-proto", "--tests", "-E", "not kind(lib)"))
GOLDEN = Stage("golden results and conformance", (*BOTH, "--test", "golden", "--test", "conformance"))
SIM = Stage(
    "the other integration tests of `sim`",
    (
        *BOTH,
        "--tests",
        "-E",
        "package(clearway-sim) and not kind(lib) and not binary(golden) and not binary(conformance)",
    ),
)
#: The tests that can see the mutants of a package, cheap ones first. A stage runs only if no test before it failed.
STAGES = {
    "clearway-proto": (UNIT["clearway-proto"], PROTO, GOLDEN, SIM),
    "clearway-sim": (UNIT["clearway-sim"], GOLDEN, SIM),
}


@dataclass(frozen=True)
class Outcome:
    """What came of a trial."""

    #: `killed`, `survived`, `timeout` (a test did not end in time) or `unviable` (it doesn't compile).
    what: str
    #: The test that failed first, if one did.
    by: str | None
    seconds: float


class Trials:
    """A copy of the repository in which mutants are tried, one at a time."""

    def __init__(self, root: Path, nextest: Path) -> None:
        self.root, self.nextest = root, nextest
        self.folder = root / "target" / "mutants"
        self.tree = self.folder / "tree"
        #: Hash of all files of the copy.
        self.content = ""

    def prepare(self) -> None:
        """Makes the copy what the working tree is; files that did not change are not written, so not compiled anew."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True).stdout.split("\0")
        wanted = {name for name in names if name and (self.root / name).is_file()}
        total = hashlib.sha256()
        for name in sorted(wanted):
            content = (self.root / name).read_bytes()
            total.update(f"{name}\0{len(content)}\0".encode() + content)
            copy = self.tree / name
            if not copy.is_file() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
        for copy in [path for path in self.tree.rglob("*") if path.is_file()]:
            if str(copy.relative_to(self.tree)) not in wanted:
                copy.unlink()
        self.content = total.hexdigest()

    def baseline(self) -> None:
        """Runs all tests without a mutant, unless they passed with these very files before."""
        mark = self.folder / "baseline"
        if mark.is_file() and mark.read_text("utf-8") == self.content:
            return
        for stage in dict.fromkeys(stage for stages in STAGES.values() for stage in stages):
            outcome = self.run(stage)
            if outcome.what != "survived":
                raise ProblemError(
                    f"without any mutant, {stage.name} fail ({outcome.what}: {outcome.by or 'build'}); mend that first"
                )
            print(f"without a mutant: {stage.name} pass in {outcome.seconds:.0f} s", flush=True)
        mark.write_text(self.content, "utf-8")

    def tried(self, mutant: Mutant) -> Outcome:
        """Applies a mutant, runs the tests that can see it until one fails, and takes it back."""
        begun = time.monotonic()
        with self.applied(mutant):
            for stage in STAGES[mutant.package]:
                outcome = self.run(stage)
                if outcome.what != "survived":
                    break
        return Outcome(outcome.what, outcome.by, time.monotonic() - begun)

    @contextmanager
    def applied(self, mutant: Mutant) -> Iterator[None]:
        """The copy has the mutant for a time."""
        file = self.tree / mutant.file
        before = file.read_text("utf-8")
        file.write_text(mutant.applied(before), "utf-8")
        try:
            yield
        finally:
            file.write_text(before, "utf-8")

    def run(self, stage: Stage) -> Outcome:
        """Builds and runs the tests of a stage."""
        begun = time.monotonic()
        words = ("--cargo-quiet", "--color", "never", "--failure-output", "never", "--no-input-handler")
        command = [str(self.nextest), "nextest", "run", "--locked", *words, *stage.words]
        environment = {**os.environ, **ENVIRONMENT, "CARGO_TARGET_DIR": str(self.folder / "build")}
        child = subprocess.Popen(
            command,
            cwd=self.tree,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
        try:
            _, errors = child.communicate(timeout=STAGE_S)
        except subprocess.TimeoutExpired:
            child.terminate()
            child.communicate()
            return Outcome("timeout", None, time.monotonic() - begun)
        except BaseException:
            child.terminate()
            child.wait()
            raise
        return judged(child.returncode, errors, time.monotonic() - begun)


#: A line of nextest on a test that ended badly: `        FAIL [   0.006s] ( 1/12) clearway-proto tcp::tests::name`.
ENDED = re.compile(
    r"^\s+(?P<how>[A-Z][\w+-]*(?: [A-Z]+)?) \[\s*[>\d.]+s\](?: \(.*?\))? (?P<test>\S+ .*\S)$", re.MULTILINE
)
#: Words of such lines that tell of no failure.
HARMLESS = ("PASS", "SLOW", "SETUP", "TERMINATING", "LEAK")


def judged(code: int, errors: str, seconds: float) -> Outcome:
    """What nextest's exit code and messages say of a mutant: it survived if all tests passed."""
    if code == 0:
        return Outcome("survived", None, seconds)
    if code == BROKEN:
        return Outcome("unviable", None, seconds)
    if code != FAILED:
        raise ProblemError(f"nextest ended with exit code {code}: {errors.strip()[-2000:]}")
    ended = [(match["how"], match["test"]) for match in ENDED.finditer(errors)]
    bad = [(how, test) for how, test in ended if how not in HARMLESS]
    failed = next((test for how, test in bad if how != "TIMEOUT"), None)
    if failed is None and bad:
        return Outcome("timeout", bad[0][1], seconds)
    return Outcome("killed", failed, seconds)


def commit_of(root: Path) -> str:
    """The commit that the working tree is of, with `-dirty` if Rust sources were changed since."""
    git = ["git", "-C", str(root)]
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    changed = subprocess.run(
        [*git, "status", "--porcelain", "crates"], capture_output=True, text=True, check=True
    ).stdout
    return commit + "-dirty" * bool(changed.strip())


def has_changed(root: Path, commit: str) -> bool:
    """Whether the Rust sources, or what they are built from, are others than those of a commit."""
    command = [
        "git",
        "-C",
        str(root),
        "diff",
        "--quiet",
        commit,
        "--",
        "crates",
        "workloads",
        "scenarios",
        "Cargo.lock",
    ]
    return subprocess.run(command, capture_output=True, check=False).returncode != 0
