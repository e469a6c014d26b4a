"""The wheels that `make wheel` builds."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY
from skips import needs

from clearway.examples import examples


def contents() -> Any:
    sys.path.insert(0, str(REPOSITORY / "tools"))
    return importlib.import_module("wheel_content")


def test_a_wheel_must_have_the_page_and_every_example_and_lesson() -> None:
    wanted = contents().wanted()
    assert "clearway/data/web/clearway.html" in wanted
    assert {f"clearway/data/scenarios/{one.file}" for one in examples().values()} <= set(wanted)
    assert any("lesson" in name for name in wanted)


def test_a_wheel_without_one_of_them_is_refused(tmp_path: Path) -> None:
    tool, wheel = contents(), tmp_path / "some.whl"
    for left_out in ("", "clearway/data/web/clearway.html", "clearway/data/scenarios/incast.toml"):
        with zipfile.ZipFile(wheel, "w") as file:
            for name in tool.wanted():
                if name != left_out:
                    file.writestr(name, "")
        done = subprocess.run(
            [sys.executable, REPOSITORY / "tools" / "wheel_content.py", wheel],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == ((1, f"{wheel}: lacks {left_out}\n") if left_out else (0, ""))


@pytest.mark.full
@needs(shutil.which("rustup"), "rustup, which brings the other architecture", "see https://rustup.rs")
def test_wheels_install_and_run_with_the_newest_and_the_oldest_versions_of_what_they_need() -> None:
    done = subprocess.run(["make", "wheel"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    names = sorted(wheel.name.split("manylinux_2_28_")[1] for wheel in (REPOSITORY / "dist").glob("*.whl"))
    assert names == ["aarch64.whl", "x86_64.whl"]
    for versions in ("newest", "oldest"):
        assert f"installs and runs with the {versions} versions" in done.stdout
