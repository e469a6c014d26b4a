"""The version that the command prints and that results hold: it tells one build from another."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest
from conftest import REPOSITORY, SMALL, Cli

import clearway
from clearway import _clearway, command

BUILD = REPOSITORY / "crates" / "python" / "build.rs"


def test_the_version_names_commit_sources_and_profile(cli: Cli) -> None:
    said = cli("--version").stdout
    assert said == f"clearway {command.version_text()}\n"
    assert said.startswith(f"clearway {clearway.__version__} (")
    assert said.endswith(f"sources {_clearway.__build__}, {_clearway.__profile__})\n")
    assert re.fullmatch(r"[0-9a-f]{12}", _clearway.__build__)
    if (REPOSITORY / ".git").exists() and _clearway.__commit__:
        assert re.search(r"\(commit [0-9a-f]{12}(-dirty)?, sources ", said)
        commit = _clearway.__commit__.removesuffix("-dirty")
        subprocess.run(["git", "cat-file", "-e", commit], cwd=REPOSITORY, check=True)


@pytest.mark.parametrize(
    ("commit", "begins"),
    [
        ("0123456789abcdef", "commit 0123456789ab, sources "),
        ("0123456789abcdef-dirty", "commit 0123456789ab-dirty, sources "),
        (None, "sources "),
    ],
)
def test_a_build_without_git_is_told_by_its_sources(
    monkeypatch: pytest.MonkeyPatch, commit: str | None, begins: str
) -> None:
    monkeypatch.setattr(_clearway, "__commit__", commit)
    assert command.version_text().startswith(f"{clearway.__version__} ({begins}{_clearway.__build__}, ")


def test_a_run_holds_the_build_that_made_it() -> None:
    summary = clearway.run(SMALL).summary
    made = (summary["clearway"], summary["commit"], summary["build"], summary["profile"])
    assert made == (clearway.__version__, _clearway.__commit__, _clearway.__build__, _clearway.__profile__)


def test_the_hash_of_a_build_covers_every_crate_that_is_compiled_into_it() -> None:
    listed = re.search(r"const MODULE: &\[&str\] = &\[(.*?)\];", BUILD.read_text("utf-8"), flags=re.DOTALL)
    assert listed
    folders = set(re.findall(r'"([^"]+)"', listed[1]))
    wanted, found = ["clearway-python"], set()
    while wanted:
        folder = f"crates/{wanted.pop().removeprefix('clearway-')}"
        if folder not in found:
            found.add(folder)
            manifest = tomllib.loads((REPOSITORY / folder / "Cargo.toml").read_text("utf-8"))
            wanted += [name for name in manifest["dependencies"] if name.startswith("clearway-")]
    assert folders == found | {"workloads", "scenarios"}
