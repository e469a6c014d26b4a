"""`tools/packages`, as far as it needs neither root nor a network. `python/tests/packages` installs what it makes."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY

TOOL = REPOSITORY / "tools/packages"
PACKAGING = REPOSITORY / "packaging"


def tool() -> Any:
    """The tool as a module."""
    loader = SourceFileLoader("packages_tool", str(TOOL))
    spec = spec_from_loader("packages_tool", loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_packaged_units_call_the_packaged_program_and_nothing_below_usr_local() -> None:
    for path in sorted(PACKAGING.glob("*.service")):
        text = tool().packaged(path.read_text())
        called = re.findall(r"^Exec\w+=(\S+)", text, re.MULTILINE)
        assert set(called) == {"/usr/sbin/clearwayd"}, path.name
        assert "/usr/local" not in text
        # Sets of system calls in systemd 252 do not include the call by which the daemon limits itself further.
        assert " seccomp" in re.findall(r"^SystemCallFilter=(.*)$", text, re.MULTILINE)[0], path.name


def test_nfpm_packs_every_unit_and_the_example_of_settings() -> None:
    packed = re.findall(r"src: ([^,\s]+),", (PACKAGING / "nfpm.yaml").read_text())
    assert {path.name for path in PACKAGING.glob("*.service")} | {"clearwayd", "clearwayd.toml"} <= set(packed)
    assert "${" not in " ".join(packed)


def test_an_image_has_the_digests_that_it_names_and_comes_out_the_same_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    for name in ("one.tar", "two.tar"):
        tool().write_image(tmp_path / name, b"a layer")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]

    def follow(link: dict[str, Any]) -> bytes:
        data = files[f"blobs/{link['digest'].replace(':', '/')}"]
        assert link["size"] == len(data)
        assert link["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
        return data

    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    manifest = json.loads(follow(json.loads(files["index.json"])["manifests"][0]))
    config = json.loads(follow(manifest["config"]))
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(b'a layer').hexdigest()}"]
    assert config["created"] == "1970-01-02T00:00:00Z"
    assert follow(manifest["layers"][0])
    (docker,) = json.loads(files["manifest.json"])
    assert {docker["Config"], *docker["Layers"]} <= set(files)


def test_an_unknown_package_is_refused_in_one_line() -> None:
    done = subprocess.run([sys.executable, TOOL, "apk"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tools/packages: there is no package apk; write deb, rpm or oci\n"


def test_a_program_that_was_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path))
    done = subprocess.run([sys.executable, TOOL, "deb"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    program = tmp_path / "release/clearwayd"
    assert done.stderr == f"tools/packages: {program}: there is no such program; run `make clearwayd`\n"
