"""The documentation is true: examples run, links and commands exist, and every id that is cited is explained."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from conftest import REPOSITORY

import clearway
from clearway.command import cli

sys.path.insert(0, str(REPOSITORY / "tools" / "website"))
sys.path.insert(0, str(REPOSITORY / "tools"))
import guides
from stage import PLACED, children, indexes, names

DOCS = REPOSITORY / "docs"
#: Pages that people write; those of `docs/results` are written by `clearway reproduce`.
WRITTEN = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "workloads/README.md")),
    *(path for path in sorted(DOCS.rglob("*.md")) if path.parent != DOCS / "results"),
]
#: Pages whose Python blocks are one program each.
PYTHON = ["README.md"]
#: Pages whose commands are run in every test, since they take a moment; those of all other pages only with `--full`.
QUICK = ["README.md"]
#: Pages that test_guides.py runs from the first line to the last.
GUIDES = guides.pages()
#: Commands that are not run here: they take minutes, configure the machine, or need the page that `make web` builds.
NOT_RUN = (
    *("make ", "cargo ", "sh switch.sh"),
    *("clearway reproduce", "clearway parity", "clearway testbed", "clearway view"),
)


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of a page that name this language (none: the empty text)."""
    return [
        body for name, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE) if name == language
    ]


def commands(text: str) -> list[str]:
    """The commands of a page or scenario, each on one line and without the path of the virtual environment."""
    lines = "".join(blocks(text, "")).replace("\\\n", " ").replace(".venv/bin/", "").splitlines()
    lines += re.findall(r"^#   (clearway .*)$", text, flags=re.MULTILINE)
    return [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?(clearway|make|cargo|sh) ", line)]


@pytest.mark.parametrize("page", PYTHON)
def test_python_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scenarios").symlink_to(REPOSITORY / "scenarios")
    monkeypatch.chdir(tmp_path)
    examples = blocks((REPOSITORY / page).read_text("utf-8"), "python")
    assert examples
    names: dict[str, object] = {}
    for number, block in enumerate(examples, 1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)


@pytest.mark.parametrize("page", ["docs/how-to/write-a-scenario.md", "docs/reference/scenario.md"])
def test_toml_examples_are_scenarios(page: str) -> None:
    examples = blocks((REPOSITORY / page).read_text("utf-8"), "toml")
    assert examples
    for example in examples:
        assert clearway.run(example).summary["ended"] == "complete"


def pages_with_commands() -> Iterator[Any]:
    for path in WRITTEN:
        if path.name == "add-a-transport.md":
            continue  # Its commands need the transport that it builds: see test_adding_a_transport.py.
        if path in GUIDES:
            continue
        if any(not line.startswith(NOT_RUN) for line in commands(path.read_text("utf-8"))):
            marks = [] if name_of(path) in QUICK else [pytest.mark.full]
            yield pytest.param(path, id=name_of(path), marks=marks)


@pytest.mark.parametrize("path", list(pages_with_commands()))
def test_commands_run(path: Path, tmp_path: Path) -> None:
    text = path.read_text("utf-8")
    (tmp_path / "scenarios").symlink_to(REPOSITORY / "scenarios")
    for file, block in re.findall(r"Save this as `([a-z]+\.toml)`:\n\n```toml\n(.*?)```", text, flags=re.DOTALL):
        (tmp_path / file).write_text(block, "utf-8")
    program = f'clearway() {{ "{sys.executable}" -m clearway "$@"; }}\nset -e\n'
    program += "\n".join(line for line in commands(text) if not line.startswith(NOT_RUN))
    done = subprocess.run(
        ["bash", "-c", program], cwd=tmp_path, env={**os.environ, "COLUMNS": "120"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if path.name == "README.md":
        printed = {" ".join(line.split()) for line in done.stdout.splitlines()}
        for line in "".join(blocks(text, "text")).splitlines():
            assert " ".join(line.split()) in printed


@pytest.mark.parametrize("path", [*WRITTEN, *sorted((REPOSITORY / "scenarios").glob("*.toml"))], ids=name_of)
def test_commands_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", text, flags=re.MULTILINE):
        assert re.search(rf"^{''.join(target)}:", makefile, flags=re.MULTILINE), target
    written = [line.partition(" ")[2] for line in commands(text) if line.startswith("clearway ")]
    written += re.findall(r"`clearway ([a-z]+ [^`]*)`", text)
    for line in written:
        name, _, rest = line.partition(" ")
        if name == "--version":
            continue
        _, command, _ = cli.resolve_command(click.Context(cli), [name])
        assert command
        words = rest.split()
        while isinstance(command, click.Group) and words:
            command = command.commands[words.pop(0)]
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word.partition("=")[0] for word in rest.split() if word.startswith("--")} <= options, line


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    heads = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", head).lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", [*WRITTEN, *sorted((DOCS / "results").glob("*.md"))], ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text("utf-8")
    for pair in re.findall(r"\]\(([^)\s]+)\)|src(?:set)?=\"([^\"]+)\"", text):
        link, _, anchor = "".join(pair).partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = path.parent / link if link else path
        assert target.exists(), f"{name_of(path)} links to {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{name_of(path)} links to {link}#{anchor}"


@pytest.mark.parametrize("path", WRITTEN, ids=name_of)
def test_files_that_are_named_exist(path: Path) -> None:
    if path.name == "add-a-transport.md":
        return  # It names the files of the transport that its reader writes.
    for name in re.findall(r"`((?:crates|python|scenarios|workloads|tools)/[\w./*-]+)`", path.read_text("utf-8")):
        # A file that has become a folder, `law.rs` and then `law/`, is still found by its name.
        found = list(REPOSITORY.glob(name)) or (REPOSITORY / name.removesuffix(".rs")).is_dir()
        assert found, f"{name_of(path)} names {name}"


def test_every_page_is_below_one_index() -> None:
    below = [child for index in indexes(REPOSITORY) for child in children(REPOSITORY, index)]
    assert [page for page in set(below) if below.count(page) > 1] == []
    pages = {name for name in names(REPOSITORY) if name != "docs/README.md"}
    assert pages - set(below) == set()


def test_a_page_lies_in_the_folder_of_its_part() -> None:
    assert {name_of(path) for path in DOCS.glob("*.md")} == {"docs/README.md", *PLACED}


def test_the_readme_counts_the_claims_as_the_scoreboard_does() -> None:
    total = re.search(r"^\| all \| (\d+) \|", (DOCS / "results/README.md").read_text("utf-8"), flags=re.MULTILINE)
    assert total
    assert f"the {total[1]} claims of five papers" in (REPOSITORY / "README.md").read_text("utf-8")


SOURCES = "E17|E16|NAIVE|PAC|EC4|PACC|HPCC|TIMELY|RCP|DX|HULL|ICTCP|DCQCN|CUBIC|DCTCP|PFC|NDP|EQDS|UE"


def readings_in(text: str) -> set[str]:
    """The ids of readings that a text cites, those within a range such as `E17-1 to E17-26` included."""
    found = set(re.findall(rf"\b(?:{SOURCES})-\d+\b", text))
    for source, first, last in re.findall(rf"\b({SOURCES})-(\d+) to \1-(\d+)\b", text):
        found |= {f"{source}-{number}" for number in range(int(first), int(last) + 1)}
    return found


def test_every_reading_that_is_cited_is_explained_and_every_explained_one_is_cited() -> None:
    page = DOCS / "project/readings.md"
    explained = re.findall(rf"^\| ((?:{SOURCES})-\d+) \|", page.read_text("utf-8"), flags=re.MULTILINE)
    assert len(explained) == len(set(explained))
    cited = dict[str, str]()
    for folder in ("README.md", "CONTRIBUTING.md", "docs", "python/clearway", "crates", "scenarios", "workloads"):
        root = REPOSITORY / folder
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.suffix in {".md", ".py", ".rs", ".toml"} and path not in {page, DOCS / "project/glossary.md"}:
                cited |= dict.fromkeys(readings_in(path.read_text("utf-8")), name_of(path))
    assert {name: where for name, where in cited.items() if name not in set(explained)} == {}
    assert set(explained) - set(cited) == set()


@pytest.mark.parametrize("page", ["docs/project/readings.md", "docs/project/glossary.md"])
def test_explanations_are_sentences(page: str) -> None:
    rows = re.findall(r"^\| (?!-|id |term )(.*) \|$", (REPOSITORY / page).read_text("utf-8"), flags=re.MULTILINE)
    assert len(rows) > 50
    for row in rows:
        cells = row.split(" | ")
        assert len(cells) == 3, row
        sentences = cells[1:] if page == "docs/project/readings.md" else cells[1:2]
        for sentence in sentences:
            assert re.search(r"[.]\)?$", sentence), row
            assert not re.match(r"(Its|What|Whether|The same)\b", sentence), row


def test_terms_of_the_glossary_are_explained_once() -> None:
    text = (DOCS / "project/glossary.md").read_text("utf-8")
    terms = re.findall(r"^\| (?!-|term )(.*?) \|", text, flags=re.MULTILINE)
    assert len(terms) == len(set(terms))
