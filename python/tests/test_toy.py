"""A transport with an agent and a port mechanism is one folder and one line of the registry, and nothing else."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOY = Path(__file__).parent / "toy"


@pytest.mark.full
def test_a_transport_with_an_agent_and_a_mechanism_is_one_folder_and_one_line(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("crates", "workloads"):
        shutil.copytree(ROOT / name, tmp_path / name)
    source = tmp_path / "crates/proto/src"
    # The folder, with the declaration by which Rust knows it.
    (source / "toy").mkdir()
    shutil.copy(TOY / "mod.rs", source / "toy")
    with (source / "lib.rs").open("a") as crate:
        crate.write("pub mod toy;\n")
    # The line.
    registry = (source / "registry.rs").read_text()
    line = "    Blast = crate::blast::Blast;\n"
    assert registry.count(line) == 1
    (source / "registry.rs").write_text(registry.replace(line, line + "    Toy = crate::toy::Toy;\n"))
    shutil.copy(TOY / "runs.rs", tmp_path / "crates/sim/tests/toy.rs")
    # Dependencies are taken from the repository's own target folder, if they are built there.
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    command = ["cargo", "test", "--locked", "--quiet", "-p", "clearway-sim", "--test", "toy"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "CARGO_TARGET_DIR": target}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
