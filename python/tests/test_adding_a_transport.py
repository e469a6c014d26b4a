"""`docs/how-to/add-a-transport.md` is the whole program: its blocks, put where they say, build a working transport."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import REPOSITORY

PAGE = (REPOSITORY / "docs/how-to/add-a-transport.md").read_text("utf-8")


def blocks() -> list[tuple[str, str]]:
    """The Rust blocks of the page: the file that the first line names, and the other lines."""
    return re.findall(r"^```rust\n// (\S+)\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


def test_every_rust_block_of_the_page_names_its_file() -> None:
    assert len(blocks()) == PAGE.count("```rust")
    assert {name for name, _ in blocks()} == {
        "crates/proto/src/tortoise/mod.rs",
        "crates/proto/src/lib.rs",
        "crates/proto/src/registry.rs",
        "crates/sim/tests/tortoise.rs",
    }


def put(root: Path, name: str, code: str) -> None:
    """Puts a block where the page says: at the end of the registry's list, or else at the end of its file."""
    path = root / name
    text = path.read_text("utf-8") if path.exists() else ""
    if name.endswith("registry.rs"):
        start = text.index("\ntransports! {")
        end = text.index("\n}", start) + 1
        text = text[:end] + code + text[end:]
    else:
        text += ("\n" if text else "") + code
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.mark.full
def test_the_transport_of_the_page_builds_and_works(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy2(REPOSITORY / name, tmp_path)
    for name in ("crates", "workloads"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    for name, code in blocks():
        put(tmp_path, name, code)
    # Dependencies are taken from the repository's own target folder, where they are built already; what is built for
    # this test alone is not optimised. The simulator is named with `proto`, so that both are tested with one build of
    # it; else they would ask for different features.
    target = os.environ.get("CARGO_TARGET_DIR", str(REPOSITORY / "target"))
    crates = ("proto", "schema", "sim", "topology", "trace", "units")
    fast = [word for crate in crates for word in ("--config", f"profile.dev.package.clearway-{crate}.opt-level=0")]
    for which, passed in (
        ("-p clearway-proto --lib tortoise", ["2 passed; 0 failed"]),
        ("-p clearway-proto -p clearway-sim --test operations --test tortoise", [" 0 failed", "2 passed; 0 failed"]),
    ):
        done = subprocess.run(
            ["cargo", "test", "--locked", "--quiet", *fast, *which.split()],
            cwd=tmp_path,
            env={**os.environ, "CARGO_TARGET_DIR": target},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        results = [line for line in done.stdout.splitlines() if line.startswith("test result:")]
        assert len(results) == len(passed), done.stdout
        assert all(words in line for words, line in zip(passed, results, strict=True)), done.stdout
