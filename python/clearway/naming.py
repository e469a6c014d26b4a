"""Names of result folders: they tell runs apart, and are safe on every file system."""

from __future__ import annotations

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from clearway import _clearway

#: Folder of all results that no other folder was named for.
OUT = Path("out")
#: Most characters of a folder's name.
LONGEST = 100
#: Names that Windows keeps for devices, whatever follows them after a dot.
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def default_folder(
    scenario: _clearway.Scenario, *, transports: bool, seed: int | None, settings: Mapping[str, str]
) -> Path:
    """The folder of a run or comparison that was given none: scenario, transport, and what the command set otherwise.

    `transports` is true for a run and false for a comparison, in which each transport has a folder of its own. Two
    scenarios of one name have the same folder; `folder.check_target` refuses the second.
    """
    parts = [scenario.name]
    parts += ["+".join(transports_of(scenario))] if transports else []
    parts += [f"seed-{seed}"] if seed is not None else []
    parts += [f"{key}-{value}" for key, value in settings.items()]
    return OUT / safe_name("-".join(filter(None, parts)))


def transports_of(scenario: _clearway.Scenario) -> list[str]:
    """The transports of a scenario's traffic, sorted."""
    resolved = tomllib.loads(scenario.to_toml())
    named = [part.get("transport", resolved.get("transport")) for part in resolved.get("traffic", [])]
    return sorted({transport["name"] for transport in named if isinstance(transport, dict)})


def safe_name(text: str) -> str:
    """A text as a name of a folder: letters without accents, digits, and `. - + _`.

    A space between a number and its unit is left out. Where anything else is lost, a hash of the text stands at the
    end, so that different texts have different names.
    """
    plain = re.sub(r"(?<=\d) (?=[A-Za-z])", "", text)
    folded = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9.+_-]+", "-", folded).strip(".-")
    if RESERVED.match(name) or not name:
        name = f"run-{name}".strip("-")
    if name == plain and len(name) <= LONGEST:
        return name
    return f"{name[:LONGEST].rstrip('.-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
