"""Prints what `make` installs: the exact versions of extras in `pyproject.toml` (of `dev` if none is named)."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
for extra in sys.argv[1:] or ["dev"]:
    print("\n".join(project["optional-dependencies"][extra]))
