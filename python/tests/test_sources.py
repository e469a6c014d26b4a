"""Edits of a copy of the package: which results they make stale, and which they don't."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import REPOSITORY

from clearway.jobs import sources

PACKAGE = REPOSITORY / "python" / "clearway"

#: Prints the hashes of the figures of some papers, or of all: how each is measured, what makes its page, its scenarios.
ASK = """
import json
import sys
from clearway import reproduce
from clearway.reproduce import record, work
print(json.dumps({
    name: [work.measured(one), record.page_sources(one), record.jobs_hash(one.jobs("quick"))]
    for name, one in reproduce.figures().items()
    if not sys.argv[1:] or name.partition("/")[0] in sys.argv
}))
"""

Hashes = dict[str, list[str]]

#: The papers whose figures are asked for where the slow tests don't run. Those of all take thrice as long.
FEW = ("expresspass", "hotnets", "pacc")


@pytest.fixture(scope="module")
def asked_for(pytestconfig: pytest.Config) -> tuple[str, ...]:
    """The papers that are asked for; none stands for all."""
    return () if pytestconfig.getoption("--slow") or pytestconfig.getoption("--full") else FEW


def hashes(package: Path, papers: tuple[str, ...], **environment: str) -> Hashes:
    """The hashes of figures in a copy of the package."""
    asked = subprocess.run(
        [sys.executable, "-c", ASK, *papers],
        env={**os.environ, "PYTHONPATH": str(package.parent), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: Hashes = json.loads(asked.stdout)
    return found


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory, asked_for: tuple[str, ...]) -> tuple[Path, Hashes]:
    """A copy of the package, and the hashes of its figures."""
    package = tmp_path_factory.mktemp("python") / "clearway"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*.so", "web"))
    for compiled in PACKAGE.glob("*.so"):
        (package / compiled.name).symlink_to(compiled)
    for file in package.rglob("*.py"):
        # What Python compiles it takes for compiled as long as a file has its time, so an edit has a later one.
        os.utime(file, (0, 0))
    return package, hashes(package, asked_for, PYTHONDONTWRITEBYTECODE="")


Edit = Callable[..., tuple[set[str], set[str], set[str]]]


@pytest.fixture
def edit(copied: tuple[Path, Hashes], asked_for: tuple[str, ...]) -> Edit:
    """Makes edits (file, old text, new text) in the copy; tells whose measurements, pages and scenarios they hit."""
    package, before = copied

    def edited(*edits: tuple[str, str, str]) -> tuple[set[str], set[str], set[str]]:
        texts = {file: (package / file).read_text("utf-8") for file, _, _ in edits}
        try:
            for file, old, new in edits:
                assert old in texts[file], f"{file} has no {old!r}"
                (package / file).write_text(texts[file].replace(old, new, 1), "utf-8")
            after = hashes(package, asked_for, PYTHONDONTWRITEBYTECODE="1")
        finally:
            for file, text in texts.items():
                (package / file).write_text(text, "utf-8")
        stale = [{name for name, one in after.items() if one[part] != before[name][part]} for part in range(3)]
        return stale[0], stale[1], stale[2]

    return edited


def papers(names: set[str]) -> set[str]:
    return {name.partition("/")[0] for name in names}


def test_the_place_of_the_package_is_no_part_of_a_hash(copied: tuple[Path, Hashes], asked_for: tuple[str, ...]) -> None:
    assert copied[1] == hashes(PACKAGE, asked_for)


@pytest.mark.slow
def test_a_helper_of_a_paper_makes_the_figures_stale_that_use_it_and_no_others(edit: Edit) -> None:
    measured, pages, _ = edit(("reproduce/pacc/burst.py", "(times > start)", "(times >= start)"))
    assert measured == pages == {"pacc/fig01", "pacc/fig03"}


def test_a_constant_of_a_figure_makes_the_figures_stale_that_measure_by_it_and_no_others(edit: Edit) -> None:
    measured, pages, scenarios = edit(("reproduce/expresspass/fig10.py", "WARM_UP_MS = 10", "WARM_UP_MS = 11"))
    assert measured == pages == scenarios == {"expresspass/fig10", "hotnets/fig03"}


@pytest.mark.slow
def test_a_constant_that_another_module_defines_counts_where_it_is_used(edit: Edit) -> None:
    measured, pages, _ = edit(("reproduce/quantities.py", "84, 1538, 1460", "84, 1542, 1460"))
    assert {"expresspass/fig10", "hotnets/fig09"} <= measured
    assert "pac" not in papers(measured | pages)


@pytest.mark.slow
def test_a_metric_that_is_reached_through_a_helper_counts(edit: Edit) -> None:
    measured, _, _ = edit(("metrics.py", '(table["timeouts"] > 0)', '(table["timeouts"] > 1)'))
    assert {"pac/fig07", "pac/fig13"} <= measured
    assert "expresspass/fig10" not in measured


@pytest.mark.slow
def test_how_a_run_becomes_tables_counts_for_all_that_is_simulated(edit: Edit) -> None:
    measured, pages, _ = edit(("tables.py", "texts.gather(pl.Series(values))", "texts.gather(pl.Series(values) + 0)"))
    assert len(measured) > 50
    assert pages == set()


@pytest.mark.slow
def test_a_file_that_a_scenario_names_is_part_of_it(edit: Edit) -> None:
    measured, _, scenarios = edit(("reproduce/pac/core.txt", "\n", "\n\n"))
    assert measured == set()
    assert scenarios == {"pac/fig09", "pac/readings"}


@pytest.mark.slow
def test_what_draws_a_picture_makes_pages_stale_and_no_measurement(edit: Edit) -> None:
    measured, pages, _ = edit(("reproduce/look.py", "ncols=columns", "ncols=1 * columns"))
    assert measured == set()
    assert len(pages) > 10


def test_prose_and_claims_make_their_pages_stale_and_no_measurement(edit: Edit) -> None:
    measured, pages, scenarios = edit(
        ("reproduce/expresspass/fig10.md", "Nothing is lost.", "Nothing was lost."),
        ("reproduce/expresspass/fig16.py", '"""', '"""More. '),
        ("reproduce/claims/pacc.toml", "tolerance = 0.5", "tolerance = 0.4"),
    )
    assert measured == scenarios == set()
    assert {name for name in pages if not name.startswith("pacc/")} == {"expresspass/fig10", "expresspass/fig16"}
    assert {"pacc/fig01", "pacc/fig07"} < pages


@pytest.mark.slow
def test_comments_and_docstrings_of_code_make_nothing_stale(edit: Edit) -> None:
    stale = edit(
        ("metrics.py", "NaN of nothing.", "NaN if there is none."),
        ("reproduce/quantities.py", "#: Credit and full data frame", "#: A credit and a full data frame"),
        ("reproduce/pacc/burst.py", '"""', '"""About bursts. '),
    )
    assert stale == (set(), set(), set())


def test_code_without_its_words() -> None:
    text = '''"""A module."""

LIMIT = 3  # of what


def over(value: float) -> str:
    """Says it.

    At length.
    """
    # Twice.
    return f"{value} # {LIMIT}" "and " """no docstring"""
'''
    kept = [line for line in sources.bare(text.splitlines()) if line]
    assert kept == ["LIMIT = 3", "def over(value: float) -> str:", text.splitlines()[-1]]
