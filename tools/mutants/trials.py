"""Trials of mutants in a copy of the repository, whose tests run until one of them fails.

All mutants that can be are compiled together (`weaving.py`), and the others one after the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drawing import Mutant, ProblemError
from weaving import SELECTOR, VARIABLE, Woven, broken, divided, woven

#: Packages are named together, so that `sim` is tested with the `proto` that the stages of `proto` have built.
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
    "CARGO_PROFILE_TEST_DEBUG": "0",
    "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
    "NEXTEST_PROFILE": "mutants",
}


@dataclass(frozen=True)
class Stage:
    """Tests that run together, by the words that choose them."""

    name: str
    words: tuple[str, ...]


def tests(*names: str) -> tuple[str, ...]:
    """The words that choose programs of integration tests."""
    return tuple(word for name in names for word in ("--test", name))


UNIT_PROTO = Stage("the unit tests of `proto`", ("-p", "clearway-proto", "--lib"))
UNIT_SIM = Stage("the unit tests of `sim`", (*BOTH, "--lib", "-E", "package(clearway-sim)"))
PROTO = Stage("the integration tests of `proto`", ("-p", "clearway-proto", "--test", "*"))
GOLDEN = Stage("golden results and conformance", (*BOTH, *tests("golden", "conformance")))
OTHERS = "package(clearway-sim) and kind(test) and not (binary(golden) or binary(conformance))"
SIM = Stage("the other integration tests of `sim`", (*BOTH, "--tests", "-E", OTHERS))
#: The tests that can see the mutants of a package, cheap ones first. A stage runs only if no test before it failed.
STAGES = {"clearway-proto": (UNIT_PROTO, PROTO, GOLDEN), "clearway-sim": (UNIT_SIM, GOLDEN)}
#: The tests that those are tried with besides that survive all of these: minutes for each.
SLOW = (SIM,)
Stages = tuple[Stage, ...]


def slow(files: Sequence[str]) -> Stages:
    """Of the slow tests only those of these files, or all if none is named."""
    # A file is a program of its own, or one of those of a folder's program.
    of_files = " or ".join(f"binary(={file}) or test(/^{file}::/)" for file in files)
    words = (*BOTH, "--tests", "-E", f"package(clearway-sim) and kind(test) and ({of_files})")
    return (Stage(f"the tests of `sim` in {', '.join(files)}", words),) if files else SLOW


@dataclass(frozen=True)
class Round:
    """Trials of mutants that were compiled together, one after the other."""

    #: The tests that a mutant of each package is tried with.
    stages: Mapping[str, Stages]
    #: Says whether a mutant takes part, once those before it have been tried.
    has: Callable[[Mutant], bool] = lambda _: True


#: The roots of the crates, which get the selector of mutants.
ROOTS = ("crates/proto/src/lib.rs", "crates/sim/src/lib.rs")


@dataclass(frozen=True)
class Outcome:
    """What came of a trial."""

    #: `killed`, `survived`, `timeout` (a test did not end in time) or `unviable` (it doesn't compile).
    what: str
    #: The test that failed first, if one did.
    by: str | None
    seconds: float


def put(file: Path, text: str) -> None:
    """Writes a file if its content is another, since a file that is written is compiled anew."""
    if file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")


class Trials:
    """A copy of the repository in which mutants are tried, one at a time."""

    def __init__(self, root: Path, nextest: Path, *, cargo: str = "cargo", trusting: bool = False) -> None:
        self.root, self.nextest, self.cargo = root, nextest, cargo
        #: Whether the tests are believed to pass without a mutant.
        self.trusting = trusting
        self.folder = root / "target" / "mutants"
        self.tree = self.folder / "tree"
        #: Hash of all files of the copy, and the same with the mutants that are woven into it.
        self.content = self.state = ""

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
        self.content = self.state = total.hexdigest()

    def each(self, mutants: list[Mutant], rounds: Sequence[Round]) -> Iterator[tuple[Mutant, Round, Outcome]]:
        """Tries mutants round by round, each with the stages of tests of its package until one fails.

        All rounds use one build. A mutant that doesn't compile is told of in the first one alone.
        """
        texts = {mutant.file: (self.tree / mutant.file).read_text("utf-8") for mutant in mutants}
        together, alone = divided(texts, mutants)
        numbers = self.weave(texts, together)
        for one in rounds:
            for mutant in together:
                number = numbers.get(mutant.key)
                if number is None and one is rounds[0]:
                    yield mutant, one, Outcome("unviable", None, 0.0)
                elif number is not None and one.has(mutant):
                    yield mutant, one, self.until_one_fails(one.stages[mutant.package], number)
        self.unweave(texts)
        for mutant in alone:
            for one in rounds:
                if one.has(mutant):
                    yield mutant, one, self.tried_alone(mutant, one.stages[mutant.package])

    def weave(self, texts: dict[str, str], mutants: list[Mutant]) -> dict[str, int]:
        """Compiles mutants together. Returns the number of each that compiles, by its key."""
        left = dict(enumerate(mutants, 1))
        while left:
            files = {file: self.woven_file(file, texts[file], left) for file in {one.file for one in left.values()}}
            for file, content in files.items():
                put(self.tree / file, content.text)
            for root in ROOTS:
                text = (self.root / root).read_text("utf-8") if root not in files else files[root].text
                put(self.tree / root, text + SELECTOR)
            build = [self.cargo, "test", "--locked", "--no-run", "--quiet", "--message-format", "short", *BOTH, "--lib"]
            done = self.call(build, {})
            if done[0] == 0:
                break
            bad = broken(done[1], files)
            if not bad:
                raise ProblemError(f"the mutants can't be compiled together: {done[1].strip()[:2000]}")
            # What has no mutant any more goes back to what it was.
            for file in files:
                put(self.tree / file, texts[file])
            left = {number: mutant for number, mutant in left.items() if number not in bad}
        self.state = hashlib.sha256("|".join([self.content, *(one.key for one in left.values())]).encode()).hexdigest()
        return {mutant.key: number for number, mutant in left.items()}

    def woven_file(self, file: str, text: str, mutants: dict[int, Mutant]) -> Woven:
        """A file with all of its mutants."""
        return woven(text, {number: mutant for number, mutant in mutants.items() if mutant.file == file})

    def unweave(self, texts: dict[str, str]) -> None:
        """Makes the copy what it was before mutants were compiled together."""
        for root in ROOTS:
            put(self.tree / root, (self.root / root).read_text("utf-8"))
        for file, text in texts.items():
            put(self.tree / file, text)
        self.state = self.content

    def until_one_fails(self, stages: Stages, number: int) -> Outcome:
        """Runs stages of tests with a mutant that was compiled with others, until one fails."""
        outcome, seconds = Outcome("survived", None, 0.0), 0.0
        for stage in stages:
            if not self.has_passed(stage):
                self.pass_without_mutant(stage)
            outcome = self.run(stage, number)
            seconds += outcome.seconds
            if outcome.what != "survived":
                break
        return Outcome(outcome.what, outcome.by, seconds)

    def tried_alone(self, mutant: Mutant, stages: Stages) -> Outcome:
        """Applies a mutant, runs stages of tests until one fails, and takes it back."""
        file = self.tree / mutant.file
        before = file.read_text("utf-8")
        outcome, seconds = Outcome("survived", None, 0.0), 0.0
        try:
            for stage in stages:
                if not self.has_passed(stage):
                    put(file, before)
                    self.pass_without_mutant(stage)
                put(file, mutant.applied(before))
                outcome = self.run(stage)
                seconds += outcome.seconds
                if outcome.what != "survived":
                    break
        finally:
            put(file, before)
        return Outcome(outcome.what, outcome.by, seconds)

    def passed(self) -> dict[str, str]:
        """The stages that passed without a mutant, each with the state of the copy that it passed with."""
        mark = self.folder / "passed.json"
        return dict(json.loads(mark.read_text("utf-8"))) if mark.is_file() else {}

    def has_passed(self, stage: Stage) -> bool:
        """Whether the tests of a stage passed without a mutant in this state of the copy."""
        return self.trusting or self.passed().get(stage.name) == self.state

    def pass_without_mutant(self, stage: Stage) -> None:
        """Runs the tests of a stage without a mutant, since those that fail anyway say nothing of mutants."""
        outcome = self.run(stage)
        if outcome.what != "survived":
            why = f"{outcome.what}: {outcome.by or 'the build'}"
            raise ProblemError(f"{stage.name} fail without any mutant ({why}); mend that first")
        print(f"without a mutant, {stage.name} pass in {outcome.seconds:.0f} s", flush=True)
        (self.folder / "passed.json").write_text(json.dumps(self.passed() | {stage.name: self.state}), "utf-8")

    def run(self, stage: Stage, number: int = 0) -> Outcome:
        """Builds and runs the tests of a stage, with a mutant that was compiled with others if a number is given."""
        begun = time.monotonic()
        words = ("--cargo-quiet", "--color", "never", "--failure-output", "never", "--no-input-handler")
        command = [str(self.nextest), "nextest", "run", "--locked", *words, *stage.words]
        try:
            code, errors = self.call(command, {VARIABLE: str(number)} if number else {})
        except subprocess.TimeoutExpired:
            return Outcome("timeout", None, time.monotonic() - begun)
        return judged(code, errors, time.monotonic() - begun)

    def call(self, command: list[str], variables: dict[str, str]) -> tuple[int, str]:
        """Runs a program in the copy. Returns its exit code and what it wrote to standard error."""
        child = subprocess.Popen(
            command,
            cwd=self.tree,
            env={**os.environ, **ENVIRONMENT, "CARGO_TARGET_DIR": str(self.folder / "build"), **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
        try:
            _, errors = child.communicate(timeout=STAGE_S)
        except BaseException:
            child.terminate()
            child.communicate()
            raise
        return child.returncode, errors


#: A line of nextest on a test that ended badly: `        FAIL [   0.006s] ( 1/12) clearway-proto tcp::tests::name`.
ENDED = re.compile(
    r"^\s+(?P<how>[A-Z][A-Z0-9+-]+(?: [A-Z]+)?) \[\s*[>\d.]+s\](?: \(.*?\))? (?P<test>\S+ .*\S)$", re.MULTILINE
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


def has_test(root: Path, commit: str, test: str) -> bool:
    """Whether a commit has a test, named as nextest does, among its Rust sources; what it asserts may have changed."""
    name = re.split(r"::| ", test)[-1]
    command = ["git", "-C", str(root), "grep", "-q", "-w", f"fn {name}", commit.removesuffix("-dirty"), "--", "crates"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


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
