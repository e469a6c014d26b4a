"""The pages that teach: each is run as a reader would, and prints what it says (`tools/guides.py`)."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

TOOL = REPOSITORY / "tools" / "guides.py"
_spec = importlib.util.spec_from_file_location("guides_tool", TOOL)
assert _spec is not None
assert _spec.loader is not None
guides = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(guides)
PAGES: list[Path] = guides.pages()
#: The folder of the pages that a newcomer opens first, and one of them that runs the page before it again. That one and
#: the pages of other folders are run by `make test-slow`.
FIRST, AGAIN = "start", "figure"


def run(page: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOOL), str(page)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "page",
    [
        page if page.parent.name == FIRST and page.stem != AGAIN else pytest.param(page, marks=pytest.mark.slow)
        for page in PAGES
    ],
    ids=lambda page: f"{page.parent.name}/{page.stem}",
)
def test_a_page_runs_and_prints_what_it_says(page: Path) -> None:
    done = run(page)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_a_page_ends_with_what_to_do_next(page: Path) -> None:
    last = page.read_text("utf-8").rstrip().rpartition("\n\n")[2]
    assert re.match(r"\*\*Next:\*\* .*\]\(", last, re.DOTALL), last


def test_a_line_that_is_not_printed_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```\nclearway list scenarios\n```\n\n```text\nno such scenario\n```\n", "utf-8")
    done = run(page)
    assert done.returncode == 1
    assert "page.md: this was not printed: no such scenario" in done.stderr


def test_a_page_goes_on_in_the_folder_of_another(tmp_path: Path) -> None:
    (tmp_path / "first.md").write_text("Save this as `a.txt`:\n\n```text\nkept\n```\n", "utf-8")
    page = tmp_path / "second.md"
    page.write_text("<!-- after: first.md -->\n\n```\ncat a.txt\n```\n\n```text\nkept\n```\n", "utf-8")
    assert run(page).returncode == 0
    page.write_text(page.read_text("utf-8").partition("\n")[2], "utf-8")
    assert "a.txt" in run(page).stderr


def test_a_command_that_fails_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```\nclearway run nothing.toml\n```\n", "utf-8")
    done = run(page)
    assert done.returncode == 1
    assert "nothing.toml" in done.stderr
