"""Runs short scenarios of all families: the training of a profile-guided build, some seconds of one core.

    python tools/train.py                     # with the package
    python tools/train.py path/to/clearway-bench

The compiler lays code out by how often it ran here, and so each family has a share, and none that no user would run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCENARIOS = Path(__file__).parent.parent / "scenarios"
TREE = {"topology.k": "8", "stop": "300 us"}
LOSSLESS = {**TREE, "switch.shared_buffer": "32 MB"}
WEB = {"traffic.web.flows": "200"}
LOSSLESS_WEB = {**WEB, "topology.kind": "pacc-320", "topology.rate": "25 Gbps", "switch.shared_buffer": "32 MB"}
#: Of the transports that spread packets over all paths, whose switches trim them.
SPREAD = {"topology.rate": "200 Gbps", "network.payload": "4096 B"}
SPREAD_TREE = {**SPREAD, "topology.k": "8", "stop": "100 us"}
SPREAD_WEB = {**SPREAD, "traffic.web.flows": "200"}

#: The scenarios with their transport (empty for those that they name) and settings.
RUNS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("permutation", "dctcp", TREE),
    ("permutation", "cubic", TREE),
    ("permutation", "expresspass", TREE),
    ("permutation", "hpcc", LOSSLESS),
    ("websearch", "expresspass", WEB),
    ("websearch", "dctcp", WEB),
    ("websearch", "hpcc", LOSSLESS_WEB),
    ("websearch", "dcqcn", LOSSLESS_WEB),
    ("websearch", "timely", LOSSLESS_WEB),
    ("websearch", "pacc", LOSSLESS_WEB),
    ("rdma-incast", "dcqcn", {}),
    ("rdma-mix", "", {"stop": "3 ms"}),
    ("incast", "newreno", {}),
    ("incast", "expresspass", {}),
    ("fig01-partition-aggregate", "pac", {}),
    ("fig01-partition-aggregate", "expresspass", {}),
    ("ec4-dctcp", "", {"stop": "10 ms"}),
    ("mixed", "", {"traffic.new.flows": "300", "traffic.old.flows": "300"}),
    ("permutation", "uec-nscc", SPREAD_TREE),
    ("permutation", "uec-rccc", SPREAD_TREE),
    ("permutation", "uec", SPREAD_TREE),
    ("permutation", "ndp", SPREAD_TREE),
    ("permutation", "eqds", SPREAD_TREE),
    ("websearch", "uec-nscc", SPREAD_WEB),
    ("websearch", "uec-rccc", SPREAD_WEB),
    ("pulls", "ndp", {}),
    ("pulls", "uec-rccc", {}),
    ("pulls", "uec-nscc", {"transport.trimming": "false", "transport.sleek": "true"}),
)


def main(program: str | None) -> None:
    """Runs all of them with the package, or with the benchmark's program."""
    if program is None:
        import clearway
    for name, transport, settings in RUNS:
        path = SCENARIOS / f"{name}.toml"
        if program is None:
            clearway.run(path, transport=transport or None, set=settings)
            continue
        chosen = ["--transport", transport] if transport else []
        pairs = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        subprocess.run([program, "--scenario", str(path), *chosen, *pairs], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
