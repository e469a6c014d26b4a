"""What the documentation says is true: its Python examples run, its files and commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from conftest import REPOSITORY

from clearway.command import cli

PAGES = ["README.md", "docs/guide.md"]


@pytest.mark.parametrize("page", PAGES)
def test_python_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scenarios").symlink_to(REPOSITORY / "scenarios")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (REPOSITORY / page).read_text("utf-8"), flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    path = REPOSITORY / page
    links = re.findall(r"\]\(([^)#:]+)\)|src(?:set)?=\"([^\":]+)\"", path.read_text("utf-8"))
    for link in ["".join(pair) for pair in links]:
        assert (path.parent / link).exists(), f"{page} links to {link}"


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_commands_exist(page: str) -> None:
    text = (REPOSITORY / page).read_text("utf-8")
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", text, flags=re.MULTILINE):
        assert re.search(rf"^{''.join(target)}:", makefile, flags=re.MULTILINE), target
    for name, rest in re.findall(r"^(?:\.venv/bin/)?clearway ([a-z]+)(.*)$", text, flags=re.MULTILINE):
        command: click.Command = cli.commands[name]
        if isinstance(command, click.Group):
            command = command.commands[rest.split()[0]]
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word.partition("=")[0] for word in rest.split() if word.startswith("--")} <= options, (name, rest)


READING = r"\b(?:E17|E16|PAC|EC4|PACC|HPCC|TIMELY|RCP|DX|HULL|ICTCP|DCQCN|CUBIC|DCTCP|PFC|N)-\d+\b"


def test_every_reading_that_is_cited_is_defined_in_the_documentation() -> None:
    cited, defined = dict[str, str](), set[str]()
    sources = [("docs", "*.md"), ("python/clearway", "*.py"), ("python/clearway", "*.md"), ("crates", "*.rs")]
    for folder, pattern in sources:
        for path in sorted((REPOSITORY / folder).rglob(pattern)):
            text = path.read_text("utf-8")
            cited |= dict.fromkeys(re.findall(READING, text), str(path))
            if folder == "docs":
                # A definition opens a row of a table, an item of a list or a paragraph.
                for line in re.findall(rf"^(?:\| |[*-] )?\**(?:{READING}(?:,| and| to)? ?)+", text, flags=re.MULTILINE):
                    defined |= set(re.findall(READING, line))
    assert {name: where for name, where in cited.items() if name not in defined} == {}
