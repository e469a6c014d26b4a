"""Runs scenarios natively and prints their hashes, as JSON from standard input to standard output.

The input is a list of {"path": scenario, "transport": name or null, "set": [[key, value]]}.
"""

from __future__ import annotations

import json
import sys

from clearway._clearway import Scenario


def main() -> None:
    """Prints the hashes in the order of the input."""
    hashes = []
    for run in json.load(sys.stdin):
        pairs = [(key, value) for key, value in run["set"]]
        scenario = Scenario.load(run["path"], transport=run["transport"], set=pairs)
        hashes.append(scenario.run().hash)
    json.dump(hashes, sys.stdout)


if __name__ == "__main__":
    main()
