"""Prints what `make` installs: the exact versions of `pyproject.toml`, one a line."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
print("\n".join(project["optional-dependencies"]["dev"]))
