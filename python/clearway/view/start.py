r"""The start of the live page: the scenarios to show, and the native engine if one is served.

It is one element in the head of the page,

    <script type="application/json" id="clearway-start">{"format": 1, "scenarios": [...], "websocket": null}</script>

with JSON in which every `<` is written as `\u003c`, so that no text of a scenario can end the element. The keys are
those of the classes here and of the types in `web/src/start.ts`, which explains them to the page.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: The version of the format, which the page checks.
FORMAT = 1
#: The start of the element. A page in which it stands near the top was written by `clearway view --html`.
MARK = '<script type="application/json" id="clearway-start">'

#: The tag that declares the encoding. The element follows it, since browsers look for it in the first 1,024 bytes only.
CHARSET = re.compile(r"<meta\s+charset=[^>]*>", re.IGNORECASE)


@dataclass(frozen=True)
class Expected:
    """The result of the run that a side repeats: the page says "same hash", or shows both."""

    #: Hash of the results.
    hash: str
    #: Version of Clearway that gave them.
    version: str
    #: Folder of the run.
    origin: str

    def json(self) -> dict[str, str]:
        """Returns the result as the page reads it."""
        return {"hash": self.hash, "version": self.version, "from": self.origin}


@dataclass(frozen=True)
class Side:
    """One of the two simulations that are shown side by side."""

    #: Scenario in TOML.
    text: str
    #: Transport of all traffic, in place of the text's.
    transport: str | None = None
    #: Keys that are set over those of the text. A seed is one of them, as text: JavaScript's numbers end at 2^53.
    settings: Sequence[tuple[str, str]] = ()
    #: The result to compare with.
    expected: Expected | None = None

    def json(self) -> dict[str, object]:
        """Returns the side as the page reads it."""
        return {
            "text": self.text,
            "transport": self.transport,
            "set": [list(pair) for pair in self.settings],
            "expected": self.expected.json() if self.expected else None,
        }


@dataclass(frozen=True)
class Scene:
    """A scenario to show, with one side or two."""

    name: str
    sides: Sequence[Side]
    #: The files that the texts name, with their content.
    files: Mapping[str, bytes] = field(default_factory=dict)

    def json(self) -> dict[str, object]:
        """Returns the scenario as the page reads it."""
        return {
            "name": self.name,
            "files": {name: file_json(content) for name, content in self.files.items()},
            "sides": [side.json() for side in self.sides],
        }


def file_json(content: bytes) -> str | dict[str, str]:
    """A file as the page reads it: its text or, where it is none, its bytes in base 64."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}


def with_start(page: str, scenes: Sequence[Scene], *, websocket: str | None = None) -> str:
    """The page with the element that tells it to show some scenarios; `websocket` is the address of a native engine.

    The address may be relative to the page's.
    """
    start = {"format": FORMAT, "scenarios": [scene.json() for scene in scenes], "websocket": websocket}
    text = json.dumps(start, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    charset = CHARSET.search(page)
    if charset is None:
        raise ValueError("the page declares no encoding")
    return f"{page[: charset.end()]}\n{MARK}{text}</script>{page[charset.end() :]}"
