"""The wheels that `make wheel` builds."""

import shutil
import subprocess

import pytest
from conftest import REPOSITORY
from skips import needs


@pytest.mark.full
@needs(shutil.which("rustup"), "rustup, which brings the other architecture", "see https://rustup.rs")
def test_wheels_install_and_run_with_the_newest_and_the_oldest_versions_of_what_they_need() -> None:
    done = subprocess.run(["make", "wheel"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    names = sorted(wheel.name.split("manylinux_2_28_")[1] for wheel in (REPOSITORY / "dist").glob("*.whl"))
    assert names == ["aarch64.whl", "x86_64.whl"]
    for versions in ("newest", "oldest"):
        assert f"installs and runs with the {versions} versions" in done.stdout
