"""The command starts fast: it imports heavy packages only where it uses them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import clearway
from clearway.command import COMMANDS, cli
from clearway.command.later import Later
from clearway.lazy import lazily

#: Packages whose import takes from a tenth of a second to a whole one.
HEAVY = ("matplotlib", "numpy", "polars", "rich", "scipy")

SCRIPT = """\
import json, sys
from clearway.command import cli
try:
    cli.main(sys.argv[1:], prog_name="clearway", standalone_mode=False)
finally:
    print(json.dumps(sorted(sys.modules)))
"""


def imported_by(*arguments: str) -> set[str]:
    """The modules that a call of the command imports."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


HELPS = [
    ["--version"],
    ["--help"],
    *([name, "--help"] for name in COMMANDS),
    ["plan", "buffers", "--help"],
    ["plan", "switch", "--help"],
    ["plan", "stability", "--help"],
    ["plan", "stability", "pacc", "--help"],
    ["plan", "stability", "expresspass", "--help"],
]


@pytest.mark.parametrize("call", HELPS, ids=" ".join)
def test_version_and_help_import_no_heavy_package(call: list[str]) -> None:
    assert imported_by(*call) & set(HEAVY) == set()


def test_version_imports_no_command() -> None:
    commands = {place.partition(":")[0] for place, _ in COMMANDS.values()}
    assert imported_by("--version") & commands == set()
    assert imported_by("run", "--help") & commands == {"clearway.command.run"}


def test_a_small_run_imports_nothing_heavy_but_what_prints_its_tables(small: object) -> None:
    loaded = imported_by("run", str(small), "--out", f"{small}-out")
    assert loaded & set(HEAVY) == {"rich"}


def test_a_small_run_that_prints_nothing_imports_no_heavy_package(small: object) -> None:
    loaded = imported_by("run", str(small), "--out", f"{small}-out", "--quiet")
    assert loaded & set(HEAVY) == set()
    assert "clearway.few_rows" in loaded


def test_the_list_of_figures_imports_none_of_them() -> None:
    loaded = imported_by("list", "figures")
    assert loaded & {"matplotlib", "numpy", "polars", "scipy", "clearway.reproduce"} == set()


def test_the_statistics_of_scipy_are_imported_when_an_interval_is_asked_for() -> None:
    script = """\
import sys, clearway.reproduce
from clearway.reproduce.stats import estimate
before = "scipy.optimize" in sys.modules
print(before, estimate([1.0, 2.0, 4.0]).low, "scipy.optimize" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # Student's t with 2 degrees of freedom: 7/3 - 4.3027 * sqrt(7/3) / sqrt(3).
    before, low, after = done.stdout.split()
    assert (before, after) == ("False", "True")
    assert float(low) == pytest.approx(-1.4612, abs=1e-4)


def test_a_module_that_is_not_there_is_missed_at_once() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        lazily("scipy.no_such_module")


def test_importing_the_package_imports_no_heavy_package() -> None:
    script = "import json, sys, clearway; print(json.dumps([dir(clearway), sorted(sys.modules)]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    names, modules = json.loads(done.stdout)
    assert set(modules) & set(HEAVY) == set()
    assert set(clearway.__all__) <= set(names)


def test_results_are_made_and_read_without_the_modules_that_show_them() -> None:
    script = (
        "import json, sys, clearway; [getattr(clearway, name) for name in clearway.__all__];"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "clearway.sweeps.result" in loaded
    showing = {f"clearway.{name}" for name in ("display", "findings", "plot", "report", "sweeps.findings")}
    assert loaded & showing == set()


def test_every_name_of_the_package_is_there_once_it_is_used() -> None:
    script = (
        "import clearway; [getattr(clearway, name) for name in clearway.__all__]; from clearway import *; run, load"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'runs'"):
        clearway.runs  # type: ignore[attr-defined]  # noqa: B018 - a mypy that misses names would say nothing here


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_found_by_its_name_and_has_a_line_in_the_help(name: str) -> None:
    command = cli.commands[name]
    assert isinstance(command, Later)
    assert command.load().name == name
    assert (command.short_help or "").endswith(".")
    assert len(command.short_help or "") <= 80 - len("  reproduce  ")
