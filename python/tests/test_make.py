"""What `make` does where a tool is missing that a build needs: it stops, or says what it makes instead."""

from __future__ import annotations

import os
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
