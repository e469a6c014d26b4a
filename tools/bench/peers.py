"""Clearway beside htsim on the same flows and the same network, in turns: `make bench-peers`.

The programs are those of uet-htsim (`htsim_uec`) and of uet-htsim or csg-htsim (`htsim_eqds`, `htsim_ndp`). Whoever has
built them names them; nothing here fetches or builds them. Both simulators read the same connection matrix (`.cm`) and
fat tree (`.topo`), in the same frames, and Clearway runs the profile `htsim`, which does as these programs do. Of
uet-htsim only `htsim_uec` reads such a tree: the others lose the sizes of its queues, and are told the tree's size.

Each round runs both with one seed, and the CPU time of a whole process counts. No two simulators draw the same random
numbers, so that the mean completion times of all rounds are compared: where they differ by more than `AGREES`, the
programs did different work, and their ratio says nothing.
"""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from against import interval
from runs import Bench, ProblemError, machine

#: The largest difference of mean completion times with which two programs count as having done the same work.
AGREES = 0.03
#: The simulated time after which both programs give up, in microseconds.
END_US = 20_000
#: A packet on the wire and its headers, in bytes, as htsim has them: it counts no preamble, gap or checksum.
WIRE, HEADER = 4150, 64
#: The line that htsim prints for each flow; the time is in microseconds.
FINISHED = re.compile(r"^Flow \S+ .*?\bfinished at ([0-9.]+(?:e[+-]?[0-9]+)?) ", re.MULTILINE)


@dataclass(frozen=True)
class Contest:
    """Flows that start together on a fat tree of three tiers, and the settings of both programs."""

    name: str
    #: The file name of the other program, and its options beside network and flows.
    program: str
    options: tuple[str, ...]
    #: The transport here, and lines of its table.
    transport: str
    settings: tuple[str, ...]
    #: The size of the tree, which has k^3 / 4 hosts, and the rate of its links.
    k: int
    gbps: int
    size_bytes: int
    #: Each host sends to the next one if true, and else to one that is drawn once for all runs.
    is_ring: bool = False
    #: Lines of Clearway's table `[network]`.
    network: tuple[str, ...] = ()

    @property
    def hosts(self) -> int:
        """The number of hosts, and of flows."""
        return self.k**3 // 4

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The sender and the receiver of each flow; every host sends one and receives one."""
        if self.is_ring:
            return ((host, (host + 1) % self.hosts) for host in range(self.hosts))
        draw = random.Random(self.hosts)
        order = draw.sample(range(self.hosts), self.hosts)
        # Each host sends to the one after it in a random order of all, so that none sends to itself.
        return iter(sorted(zip(order, order[1:] + order[:1], strict=True)))

    def matrix(self, scale: float) -> str:
        """The connection matrix."""
        size = max(1, round(self.size_bytes * scale))
        flows = [f"{src}->{dst} id {at} start 0 size {size}" for at, (src, dst) in enumerate(self.pairs(), 1)]
        return "\n".join([f"Nodes {self.hosts}", f"Connections {len(flows)}", *flows]) + "\n"

    def tree(self) -> str:
        """The fat tree, with links of 1 us."""
        half = self.k // 2
        radices = (f"Radix_Down {half}\nRadix_Up {half}",) * 2 + (f"Radix_Down {self.k}",)
        tiers = [
            f"Tier {tier}\nDownlink_speed_Gbps {self.gbps}\n{radix}\nDownlink_Latency_ns 1000\n"
            for tier, radix in enumerate(radices)
        ]
        return f"Nodes {self.hosts}\nTiers 3\nPodsize {half * half}\n" + "".join(tiers)

    def scenario(self) -> str:
        """The scenario of Clearway that reads these two files."""
        return "\n".join(
            [
                'name = "peers"',
                f'stop = "{END_US} us"',
                "[network]",
                f'payload = "{WIRE - HEADER} B"',
                f'overhead = "{HEADER} B"',
                f'wire_min = "{HEADER} B"',
                *self.network,
                "[topology]",
                'kind = "htsim-file"',
                'path = "tree.topo"',
                "[transport]",
                f'name = "{self.transport}"',
                'profile = "htsim"',
                *self.settings,
                "[[traffic]]",
                'name = "flows"',
                'kind = "file"',
                'path = "flows.cm"',
                "",
            ]
        )

    def command(self, program: Path, seed: int) -> list[str]:
        """The command of the other program."""
        speed = str(self.gbps * 1000)
        reads_tree = self.program == "htsim_uec"
        tree = ["-topo", "tree.topo"] if reads_tree else ["-nodes", str(self.hosts), "-tiers", "3"]
        files = ["-tm", "flows.cm", *tree]
        return [str(program), *files, "-linkspeed", speed, "-end", str(END_US), "-seed", str(seed), *self.options]


def contests() -> Iterator[Contest]:
    """All comparisons: Ultra Ethernet on the page's three workloads, and EQDS and NDP on the first of them."""
    for transport, options in (("uec-nscc", ("-sender_cc_only",)), ("uec-rccc", ("-receiver_cc_only",))):
        uec = ("htsim_uec", options, transport, ())
        yield Contest(f"permutation-128-{transport}", *uec, k=8, gbps=400, size_bytes=10_000_000)
        yield Contest(f"permutation-1024-{transport}", *uec, k=16, gbps=100, size_bytes=2_000_000)
        yield Contest(f"ring-1024-{transport}", *uec, k=16, gbps=100, size_bytes=8_000_000, is_ring=True)
    # Windows and queues are options there, in packets. The bandwidth-delay product is 151 packets at 400 Gbps.
    eqds = ("htsim_eqds", ("-cwnd", "227", "-q", "151"), "eqds", ())
    yield Contest("permutation-128-eqds", *eqds, k=8, gbps=400, size_bytes=10_000_000)
    # A packet of NDP there is as large as its option says, and its headers come on top.
    of_ndp = ("-mtu", str(WIRE - HEADER), "-strat", "perm", "-cwnd", "151", "-q", "151")
    ndp = ("htsim_ndp", of_ndp, "ndp", ("window = 151", "path_values = 16"))
    routing = ('routing = "source"',)
    yield Contest("permutation-128-ndp", *ndp, k=8, gbps=400, size_bytes=10_000_000, network=routing)


def found_programs(uec: Path | None, folder: Path | None) -> dict[str, Path]:
    """The programs that were named, by file name."""
    if uec is None and folder is None:
        raise ProblemError(
            "no other program is named; write `make bench-peers UEC=path/of/htsim_uec`, or with "
            "`HTSIM=folder/of/htsim_eqds`, or with both"
        )
    found = {}
    if uec is not None:
        if not (uec.is_file() and os.access(uec, os.X_OK)):
            raise ProblemError(f"UEC={uec}: is no program; name the htsim_uec that a build of uet-htsim made")
        found["htsim_uec"] = uec.resolve()
    if folder is not None:
        names = sorted({contest.program for contest in contests()} - {"htsim_uec"})
        there = {name: folder / name for name in names if os.access(folder / name, os.X_OK)}
        if not there:
            raise ProblemError(
                f"HTSIM={folder}: has no {' and no '.join(names)}; name the folder where a build of csg-htsim or "
                "uet-htsim put them"
            )
        found |= {name: path.resolve() for name, path in there.items()}
    return found


def compare(
    bench: Bench, programs: dict[str, Path], only: list[str], scale: float, rounds: int
) -> tuple[dict[str, Any], bool]:
    """Runs both programs so many times in turns and prints how many times as fast Clearway is.

    Returns what was measured, and whether the mean completion times of all comparisons agree.
    """
    chosen = [contest for contest in contests() if not only or any(text in contest.name for text in only)]
    if not chosen:
        names = ", ".join(contest.name for contest in contests())
        raise ProblemError(f"--only {' '.join(only)}: there is no such comparison, only {names}")
    if not any(contest.program in programs for contest in chosen):
        lacking = " or ".join(sorted({contest.program for contest in chosen}))
        raise ProblemError(f"the comparisons that were asked for need {lacking}, which was not named")
    here, load = machine(), [round(value, 2) for value in os.getloadavg()]
    print(f"{bench.build['kind']} build of {bench.build['commit'][:12]}, {bench.program}")
    print(
        f"{here['processors']} processors ({here['processor']}), {here['memory_gb']} GB, {time.strftime('%Y-%m-%d')}, "
        f"load average {load[0]:.2f}"
    )
    print(f"{'comparison':27} {'theirs':>8} {'ours':>8} {'ratio':>6} {'95 % interval':>15}  mean completion")
    rows = []
    for contest in chosen:
        if contest.program not in programs:
            print(f"{contest.name:27} is left out: {contest.program} was not named")
            continue
        row = pair(bench, programs[contest.program], contest, scale, rounds)
        rows.append(row)
        low, high = row["interval"]
        print(
            f"{row['name']:27} {statistics.median(row['theirs_cpu_s']):7.2f}s "
            f"{statistics.median(row['ours_cpu_s']):7.2f}s {row['ratio']:6.2f} {f'{low:.2f} to {high:.2f}':>15}  "
            f"theirs {row['theirs_mean_us']:.2f} us, ours {row['ours_mean_us']:.2f} us ({row['difference']:+.1%})",
            flush=True,
        )
        if not row["agrees"]:
            print(
                f"{row['name']}: mean completion times differ by {row['difference']:+.1%}, and {AGREES:.0%} are "
                "allowed: the programs did different work, so that their ratio is none of speed"
            )
    return {
        "machine": here,
        "build": bench.build,
        "day": time.strftime("%Y-%m-%d"),
        "load_average": load,
        "scale": scale,
        "rounds": rounds,
        "allowed_difference": AGREES,
        "comparisons": rows,
    }, all(row["agrees"] for row in rows)


def pair(bench: Bench, program: Path, contest: Contest, scale: float, rounds: int) -> dict[str, Any]:
    """Runs one comparison: CPU times and mean completion times of both, and the ratio with its interval."""
    cpu: dict[str, list[float]] = {"ours": [], "theirs": []}
    means: dict[str, list[float]] = {"ours": [], "theirs": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in (("flows.cm", contest.matrix(scale)), ("tree.topo", contest.tree())):
            (folder / file).write_text(text, "utf-8")
        (folder / "peers.toml").write_text(contest.scenario(), "utf-8")
        for number in range(rounds):
            seed = number + 1
            ours = [str(bench.program), "--scenario", "peers.toml", "--set", f"seed={seed}"]
            turn = [("ours", ours), ("theirs", contest.command(program, seed))]
            for who, command in turn if number % 2 else turn[::-1]:
                seconds, text = timed(command, folder)
                cpu[who].append(seconds)
                read = mean_of_ours if who == "ours" else mean_of_theirs
                means[who].append(read(command, text, contest.hosts))
    ratios = [theirs / ours for theirs, ours in zip(cpu["theirs"], cpu["ours"], strict=True)]
    mean = {who: statistics.fmean(found) for who, found in means.items()}
    difference = mean["ours"] / mean["theirs"] - 1
    return {
        "name": contest.name,
        "program": contest.program,
        "flows": contest.hosts,
        "theirs_cpu_s": cpu["theirs"],
        "ours_cpu_s": cpu["ours"],
        "ratio": statistics.median(ratios),
        "interval": interval(ratios),
        "theirs_mean_us": mean["theirs"],
        "ours_mean_us": mean["ours"],
        "difference": difference,
        "agrees": abs(difference) <= AGREES,
    }


def timed(command: list[str], folder: Path) -> tuple[float, str]:
    """Runs a program there, and returns its CPU time in seconds and its output."""
    with (folder / "output").open("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        raise ProblemError(f"{' '.join(command)}: ends with status {process.returncode} and says: {end_of(text)}")
    return max(usage.ru_utime + usage.ru_stime, 1e-3), text


def mean_of_ours(command: list[str], text: str, flows: int) -> float:
    """The mean completion time in microseconds of a run here."""
    found = json.loads(text)
    if found["flows"] != flows or found.get("mean_completion_us") is None:
        raise ProblemError(
            f"{' '.join(command)}: does not complete all {flows} flows within {END_US} us of simulated time, and says: "
            f"{end_of(text)}"
        )
    return float(found["mean_completion_us"])


def mean_of_theirs(command: list[str], text: str, flows: int) -> float:
    """The mean completion time in microseconds that htsim prints; all flows start at 0."""
    times = [float(time_us) for time_us in FINISHED.findall(text)]
    if len(times) != flows:
        raise ProblemError(
            f"{' '.join(command)}: prints `Flow NAME ... finished at MICROSECONDS ...` for {len(times)} flows, where "
            f"{flows} were to finish within {END_US} us. Its output ends with: {end_of(text)}"
        )
    return statistics.fmean(times)


def end_of(text: str) -> str:
    """The last lines of an output, for a message."""
    return text.strip()[-300:] or "nothing"
