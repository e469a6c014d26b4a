"""The compiled BPF programs of the Linux datapath belong to their sources."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from skips import needs

ROOT = Path(__file__).parents[2]
BPF = ROOT / "crates/linux/bpf"
SOURCES = sorted(BPF.glob("*.bpf.c"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_compiled_program_is_of_its_source(source: Path) -> None:
    object_ = source.with_suffix(".o")
    recorded = object_.with_name(object_.name + ".source").read_text().strip()
    headers = b"".join(path.read_bytes() for path in sorted(BPF.glob("*.h")))
    text = headers + source.read_bytes()
    assert hashlib.sha256(text).hexdigest() == recorded, f"{source.name} changed; run `make bpf`"


@needs(shutil.which("clang-14") and shutil.which("llvm-strip-14"), "clang 14", "apt-get install clang-14 llvm-14")
def test_the_compiler_makes_the_committed_objects_again(tmp_path: Path) -> None:
    subprocess.run([ROOT / "tools/build-bpf", tmp_path], check=True)
    for source in SOURCES:
        name = source.with_suffix(".o").name
        assert (tmp_path / name).read_bytes() == (BPF / name).read_bytes(), f"{name} is stale; run `make bpf`"


def test_every_object_has_a_source() -> None:
    assert [path.with_suffix(".c") for path in sorted(BPF.glob("*.o"))] == SOURCES
