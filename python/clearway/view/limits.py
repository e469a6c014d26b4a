"""The bounds of the live page, within which it neither freezes nor exhausts the memory of a browser.

`web/src/limits.ts` has the same numbers and says where they come from; the page keeps to them whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable

from clearway._clearway import Error, Scenario
from clearway.view.start import Scene, file_json

#: Characters of a scenario's text.
TEXT = 1_000_000
#: Lines of it.
LINES = 20_000
#: Characters of all files that the scenarios of a page name, as text or in base64.
FILES = 48_000_000
#: Links of a network that is drawn.
LINKS = 30_000
#: Traffic entries.
ENTRIES = 1_000


def check_scenario(scenario: Scenario, origin: str) -> None:
    """Raises `Error` in one line where the network or the traffic of a scenario is too large for the page."""
    found = scenario.estimate()
    if found["links"] > LINKS:
        raise Error(
            f"{origin}: topology: the network has {found['hosts']:,} hosts and {found['links']:,} links; "
            f"the live page draws at most {LINKS:,} links"
        )
    if len(found["traffic"]) > ENTRIES:
        raise Error(
            f"{origin}: traffic: these are {len(found['traffic']):,} entries; the live page takes at most {ENTRIES:,}"
        )


def check_text(text: str, origin: str) -> None:
    """Raises `Error` in one line where the text of a scenario is longer than the page takes."""
    for count, most, what in ((len(text), TEXT, "characters"), (text.count("\n") + 1, LINES, "lines")):
        if count > most:
            raise Error(f"{origin}: the scenario has {count:,} {what}; the live page takes at most {most:,}")


def check_files(scenes: Iterable[Scene]) -> None:
    """Raises `Error` in one line where the files of all scenes together are larger than the page takes."""
    sizes = {(scene.name, name): size_of(content) for scene in scenes for name, content in scene.files.items()}
    total = sum(sizes.values())
    if total > FILES:
        scene, name = max(sizes, key=lambda one: sizes[one])
        raise Error(
            f"{scene}: the files of the page have {total / 1e6:,.1f} MB, "
            f"{sizes[scene, name] / 1e6:,.1f} MB of it {name}; the live page takes at most {FILES / 1e6:,.0f} MB"
        )


def size_of(content: bytes) -> int:
    """The characters of a file in the page."""
    found = file_json(content)
    return len(found) if isinstance(found, str) else len(found["base64"])
