"""Words of the package: a docstring or a comment on a value begins with the thing that it describes."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
from conftest import REPOSITORY

PACKAGE = REPOSITORY / "python" / "clearway"

#: Beginnings that lean on the line above, or hide the subject.
RIDDLE = re.compile(r"(Its|Their|What|Whether|Who|How|Where|When|Which|The same|As there|As in|Those|These) ")


def lines_of(text: str) -> list[str]:
    """The docstrings and the comments on values (`#:`) of a module."""
    tree = ast.parse(text)
    owners = [one for one in ast.walk(tree) if isinstance(one, ast.Module | ast.ClassDef | ast.FunctionDef)]
    found = [ast.get_docstring(one) or "" for one in owners]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [(one.start[0], one.string[2:].strip()) for one in tokens if one.string.startswith("#:")]
    first = {line for line, _ in comments} - {line + 1 for line, _ in comments}
    return found + [said for line, said in comments if line in first]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_line_of_documentation_names_its_subject(path: Path) -> None:
    assert [line for line in lines_of(path.read_text("utf-8")) if RIDDLE.match(line)] == []


def test_a_riddle_is_found() -> None:
    text = '"""The module."""\n\n\ndef one() -> None:\n    """What it does."""\n\n\n#: How many\n#: Where\nTWO = 2\n'
    assert [line for line in lines_of(text) if RIDDLE.match(line)] == ["What it does.", "How many"]
