"""Every code block of README and docs is checked by what it is; a page that is new is found by itself.

test_docs.py runs the blocks without a language, and the Python programs of the guides, whose blocks build on each
other.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from conftest import REPOSITORY
from test_docs import GUIDES, PYTHON, WRITTEN, name_of

from clearway import _clearway

#: Languages of blocks: those that are checked here or in test_docs.py, the output of commands, and files for others.
LANGUAGES = {"", "python", "toml", "sh", "bash", "text", "rust", "yaml", "lua", "json", "csv"}
#: Beginnings of commands that need a cluster, a package registry or an administrator.
ELSEWHERE = (
    *("pip ", "dask ", "kubectl ", "sudo ", "eval ", "make ", "cargo "),
    *("clearway completion", "clearway demo", "clearway testbed"),
)
#: Blocks with this word make networks of their own.
NAMESPACES = "ip netns"
#: Commands that need a cluster.
CLUSTER = " --on "


@dataclass(frozen=True)
class Block:
    """A code block of a page."""

    page: Path
    line: int
    language: str
    info: str
    text: str

    @property
    def place(self) -> str:
        """The page and line, for messages."""
        return f"{name_of(self.page)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """The code blocks of a page in their order."""
    found, start, info, body = list[Block](), 0, "", list[str]()
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if line.startswith("```") and not start:
            start, info, body = number, line[3:].strip(), []
        elif line.startswith("```"):
            language, _, rest = info.partition(" ")
            found.append(Block(page, start, language, rest, "\n".join(body) + "\n"))
            start = 0
        elif start:
            body.append(line)
    assert not start, f"{name_of(page)}:{start}: this block has no end"
    return found


BLOCKS = [block for page in WRITTEN for block in blocks_of(page)]


def of(*languages: str) -> list[Any]:
    """The blocks in these languages, as parameters of a test."""
    return [pytest.param(block, id=block.place) for block in BLOCKS if block.language in languages]


def test_every_block_is_in_a_language_that_is_checked() -> None:
    assert [block.place for block in BLOCKS if block.language not in LANGUAGES] == []
    assert {"", "python", "toml", "sh"} <= {block.language for block in BLOCKS}


def merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """A scenario with the tables of a fragment; lists are replaced."""
    both = {key: merged(base[key], value) if isinstance(base.get(key), dict) else value for key, value in more.items()}
    return {**base, **both}


@pytest.mark.parametrize("block", of("toml"))
def test_toml_is_a_scenario_a_sweep_a_network_or_a_marked_fragment(block: Block, tmp_path: Path) -> None:
    content = tomllib.loads(block.text)
    if block.page in GUIDES and not block.info:
        return  # The page's commands run it: see test_guides.py.
    if "topology" in content and "traffic" in content:
        _clearway.Scenario.parse(block.text, block.place, REPOSITORY / "scenarios")
        return
    if "scenario" in content or {"axes", "cases", "zip"} & content.keys():
        return  # The page's commands run it.
    if "link" in content or "switches" in content:
        (tmp_path / "network.toml").write_text(block.text, "utf-8")
        traffic = {"kind": "long", "pairs": [[0, 1]], "size": "1 KB"}
        network = {"kind": "file", "path": "network.toml"}
        scenario = {"transport": "dctcp", "topology": network, "traffic": [traffic]}
        _clearway.Scenario.parse(tomli_w.dumps(scenario), block.place, tmp_path)
        return
    mark = block.info.partition("fragment=")[2].split()[0:1]
    assert mark, f"{block.place}: neither a scenario nor a sweep; write ```toml fragment=scenarios/NAME.toml"
    if mark == ["taplo"]:
        return
    base = tomllib.loads((REPOSITORY / mark[0]).read_text("utf-8"))
    text = tomli_w.dumps(merged(base, content))
    _clearway.Scenario.parse(text, block.place, (REPOSITORY / mark[0]).parent)


PROGRAMS = sorted(
    {
        block.page
        for block in BLOCKS
        if block.language == "python" and name_of(block.page) not in PYTHON and block.page not in GUIDES
    }
)


@pytest.mark.parametrize("page", PROGRAMS, ids=name_of)
def test_python_of_other_pages_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scenarios").symlink_to(REPOSITORY / "scenarios")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks_of(page):
        if block.language != "python":
            continue
        tree = ast.parse(block.text, block.place)
        if page.name == "CONTRIBUTING.md":
            # Its lines stand for those of a figure that is not there: what they import and call exists.
            imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
            exec(compile(ast.Module([*imports], []), block.place, "exec"), names)
            calls = [one.func for one in ast.walk(tree) if isinstance(one, ast.Call)]
            for call in calls:
                if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name) and call.value.id in names:
                    assert hasattr(names[call.value.id], call.attr), f"{block.place}: {call.attr}"
        else:
            exec(compile(tree, block.place, "exec"), names)


@pytest.mark.parametrize("block", of("sh", "bash"))
def test_shell_runs(block: Block, tmp_path: Path) -> None:
    (tmp_path / "scenarios").symlink_to(REPOSITORY / "scenarios")
    lines = block.text.replace("\\\n", " ").splitlines()
    checked = subprocess.run(["bash", "-n"], input=block.text, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    if NAMESPACES in block.text:
        return  # It runs the daemon as root: a test of python/tests/testbed runs it.
    if block.page in GUIDES:
        return  # It needs a cluster, a registry or a screen. What runs anywhere has no language there.
    here = [line for line in lines if line.strip() and not line.startswith(ELSEWHERE) and CLUSTER not in line]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    call = ["bash", "-ec", "\n".join(here)]
    env = {**os.environ, "PATH": path}
    done = subprocess.run(call, cwd=tmp_path, env=env, text=True, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
