"""The pages about the daemon name commands and flags that it has."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
import skips

from clearway.testbed import TestbedError, binary

pytestmark = pytest.mark.testbed
PAGES = Path(__file__).resolve().parents[3] / "docs/how-to"


@cache
def flags(command: str) -> set[str]:
    """The flags of a command of the daemon, by its help; the help itself fails for a command that is not there."""
    try:
        program = binary()
    except TestbedError as error:
        skips.skip("clearwayd", str(error))
    done = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"--[a-z][a-z-]+", done.stdout))


@pytest.mark.parametrize("page", ["clearwayd.md", "linux-switch.md", "two-servers.md"])
def test_every_command_of_the_daemon_on_a_page_is_one_that_it_has(page: str) -> None:
    text = (PAGES / page).read_text("utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    written = [*"".join(blocks).splitlines(), *re.findall(r"`(clearwayd [^`\n]+)`", prose)]
    # A container's command stands behind the name of its image, `clearwayd:0.1.0`.
    call = re.compile(r"(?<!/run/)\bclearwayd(?::\S+)? ([a-z]+)\b([^#|;&]*)")
    found = [match for line in written for match in call.finditer(line)]
    assert len(found) >= 4
    for match in found:
        command, rest = match.groups()
        named = set(re.findall(r"--[a-z][a-z-]+", rest))
        assert named <= flags(command), match[0]
