"""What `make` does where a tool is missing that a build needs: it stops, or says what it makes instead."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import REPOSITORY

MISSING = (
    "llvm-profdata, which reads the counters of a profile, is missing; rustup component add llvm-tools installs it"
)
TARGET = "x86_64-unknown-linux-gnu"


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """A folder with a stand-in for rustc, whose installation has no tools of LLVM."""
    script = f'#!/bin/sh\ncase "$*" in *sysroot*) echo {tmp_path} ;; *) echo "host: {TARGET}" ;; esac\n'
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rustc").write_text(script)
    (tmp_path / "bin" / "rustc").chmod(0o755)
    return tmp_path


def add_tools(compiler: Path) -> None:
    folder = compiler / "lib" / "rustlib" / TARGET / "bin"
    folder.mkdir(parents=True)
    (folder / "llvm-profdata").write_text("#!/bin/sh\n")
    (folder / "llvm-profdata").chmod(0o755)


def planned(compiler: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What `make` would run; it runs nothing itself."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PGO", "MAKE"))}
    path = f"{compiler / 'bin'}:{environment['PATH']}"
    return subprocess.run(
        ["make", "--dry-run", "--no-print-directory", *words],
        cwd=REPOSITORY,
        env={**environment, **variables, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", ["bench", "build", "wheel", "bench-count"])
def test_a_guided_build_that_was_asked_for_is_no_plain_one(compiler: Path, target: str) -> None:
    for done in (planned(compiler, target, "PGO=1"), planned(compiler, target, PGO="1")):
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert f"PGO=1: {MISSING}" in done.stderr


def test_a_wheel_that_nobody_asked_to_be_guided_is_plain_and_says_so(compiler: Path) -> None:
    done = planned(compiler, "wheel")
    assert done.returncode == 0, done.stderr
    assert f"this is a plain wheel: {MISSING}" in done.stderr
    assert "-Cprofile-use" not in done.stdout
    plain = planned(compiler, "wheel", "PGO=0")
    assert (plain.returncode, plain.stderr) == (0, "")


@pytest.mark.parametrize("target", ["bench", "build"])
def test_a_guided_build_uses_its_profile_where_the_tools_are_there(compiler: Path, target: str) -> None:
    add_tools(compiler)
    guided = planned(compiler, target, "PGO=1")
    assert guided.returncode == 0, guided.stderr
    assert "-Cprofile-use" in guided.stdout
    assert "-Cprofile-use" not in planned(compiler, target, "PGO=0").stdout


@pytest.mark.parametrize("words", [["help"], ["clean"], []], ids=" ".join)
def test_what_builds_nothing_needs_no_tools(compiler: Path, words: list[str]) -> None:
    assert planned(compiler, *words, "PGO=1").returncode == 0


def few(folder: Path, *programs: str) -> str:
    """A folder, as a path of programs, that has these alone besides what every system has."""
    (folder / "few").mkdir()
    for name in ("bash", "cut", "env", "head", "sed", "sort", *programs):
        (folder / "few" / name).symlink_to(shutil.which(name) or pytest.fail(f"{name}: there is none here"))
    return str(folder / "few")


def checked(path: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a check of the machine says with a path of programs."""
    return subprocess.run(
        [shutil.which("bash") or "", *words],
        cwd=REPOSITORY,
        env={"PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_tool_of_a_build_that_is_missing_is_named_in_a_line_with_how_to_get_it(tmp_path: Path) -> None:
    done = checked(few(tmp_path), "tools/check-machine")
    assert done.returncode == 1
    assert done.stderr == (
        "Clearway can't be built here yet. Missing:\n"
        "  - Python 3.11 or newer: apt-get install python3\n"
        "  - Rust 1.88 or newer: see https://rustup.rs (Debian 12's own rustc is too old)\n"
        "  - a C linker, which Rust needs: apt-get install gcc libc6-dev\n"
        "  - git: apt-get install git\n"
    )
    done = checked(str(tmp_path / "few"), "tools/check-machine", "rustup")
    assert (done.returncode, "rustup, which brings Rust for other machines: see https://rustup.rs" in done.stderr) == (
        1,
        True,
    )
    assert done.stderr.count("\n") == 2


def test_a_python_that_is_too_old_or_does_not_run_is_named(tmp_path: Path) -> None:
    path = few(tmp_path)
    python = tmp_path / "python3"
    for script, said in (
        ("[ $1 = --version ] && echo Python 3.9.18", "(this is Python 3.9.18): install it and say make PYTHON="),
        ("exit 127", "does not run): apt-get install python3"),
    ):
        python.write_text(f"#!{path}/bash\n{script}\n")
        python.chmod(0o755)
        done = checked(path, "tools/check-machine", "python", PYTHON=str(python))
        assert (done.returncode, done.stderr.count("\n")) == (1, 2), done.stderr
        assert said in done.stderr


def test_what_the_page_needs_is_named_in_a_line_each(tmp_path: Path) -> None:
    path = few(tmp_path)
    done = checked(path, "tools/check-web")
    assert "  - Node.js 20.19 or newer with npm: see https://nodejs.org\n" in done.stderr
    assert (done.returncode, done.stderr.count("\n")) == (1, 3)
    done = checked(path, "tools/check-web", "chromium", CHROMIUM="/nowhere/chromium")
    assert (done.returncode, done.stderr.count("\n")) == (1, 2)
    assert "  - Chromium (/nowhere/chromium): apt-get install chromium" in done.stderr
    assert checked(path, "tools/check-web", "chromium", CHROMIUM=f"{path}/bash").returncode == 0


@pytest.mark.parametrize("target", ["clearwayd", "bench", "random", "fuzz", "mutants"])
def test_each_target_that_compiles_looks_for_the_compiler_first(compiler: Path, target: str) -> None:
    lines = planned(compiler, "--always-make", target, "PGO=0").stdout.splitlines()
    first = next(at for at, line in enumerate(lines) if "cargo" in line and "check-machine" not in line)
    assert "tools/check-machine rust linker" in lines[:first]


def test_another_compiler_makes_no_objects_of_bpf_in_silence(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "LLVM_STRIP"}
    done = subprocess.run(
        [REPOSITORY / "tools" / "build-bpf", tmp_path],
        env={**environment, "CLANG": "clang-of-nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("tools/build-bpf: clang-of-nowhere is missing (apt-get install clang-14 llvm-14)")
    assert list(tmp_path.iterdir()) == []
