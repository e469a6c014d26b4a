"""The manual page and the completions that commands print, and where they install them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from conftest import Cli
from skips import program

from clearway.command import cli as root
from clearway.command.completion import SHELLS
from clearway.command.man import commands, escaped, page


def test_the_page_has_every_command_and_every_option() -> None:
    text = page(root)
    known = dict(commands(root))
    assert "clearway plan stability pacc" in known
    for name, command in known.items():
        _, found, rest = text.partition(f'.SS "{escaped(name)}"\n')
        assert found, name
        part = rest.partition("\n.S")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert escaped(parameter.opts[0]) in part, (name, parameter.opts)


def test_what_is_typed_stands_in_the_page_as_it_is_typed() -> None:
    assert escaped("--set a='b' `c` \\n") == r"\-\-set a=\(aqb\(aq \(gac\(ga \en"
    assert escaped(".hidden") == r"\&.hidden"


@pytest.mark.parametrize("words", [("groff", "-man", "-Tutf8", "-ww", "-z"), ("mandoc", "-T", "lint", "-W", "error")])
def test_the_readers_of_manuals_find_no_mistake(words: tuple[str, ...]) -> None:
    reader = program(words[0])
    done = subprocess.run([reader, *words[1:]], input=page(root), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def installed(home: Path, *words: str, path: str = "/nowhere") -> str:
    """What a command prints that installs something for a user with this folder."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    command = [sys.executable, "-m", "clearway", *words, "--install"]
    done = subprocess.run(
        command, env={**environment, "HOME": str(home), "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_is_installed_beside_the_command_where_man_finds_it(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "clearway").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "clearway").chmod(0o755)
    said = installed(tmp_path / "home", "man", path=str(tmp_path / "bin"))
    place = tmp_path / "share" / "man" / "man1" / "clearway.1"
    assert said == f"{place}: man clearway shows it\n"
    assert place.read_text("utf-8") == page(root)
    if man := shutil.which("man"):
        environment = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)}
        done = subprocess.run([man, "-w", "clearway"], env=environment, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == str(place), done.stderr


def test_the_page_is_the_users_own_where_there_is_no_such_folder(tmp_path: Path) -> None:
    installed(tmp_path, "man")
    assert (tmp_path / ".local/share/man/man1/clearway.1").is_file()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_completion_of_each_shell_is_installed_as_it_is_printed(shell: str, tmp_path: Path, cli: Cli) -> None:
    said = installed(tmp_path, "completion", shell)
    path = Path(said.partition(": ")[0])
    assert path.is_relative_to(tmp_path)
    assert path.read_text("utf-8").rstrip("\n") == cli("completion", shell).stdout.rstrip("\n")
    assert "new shells complete clearway" in said


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    done = cli("completion", "bash", "--install")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "can't be written: Not a directory" in done.stderr
