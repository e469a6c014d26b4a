"""Draws the picture of `docs/how-to/traces.md` from its example, and writes what tshark prints into the page.

    .venv/bin/python tools/traces.py

It needs tshark, and the package `perfetto` whose classes read the file. The tests of traces compare the page with what
tshark prints then.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

import clearway
from clearway.traces import DISSECTOR

ROOT = Path(__file__).parent.parent
SCENARIO = ROOT / "scenarios" / "incast-trace.toml"
PAGE = ROOT / "docs" / "how-to" / "traces.md"
PICTURE = ROOT / "docs" / "img" / "traces-perfetto.svg"
#: What is printed of the capture: the arguments of tshark behind the file, by the name of the block in the page.
BLOCKS = {"list": ["-c", "14"], "credit": ["-Y", "frame.number == 7", "-O", "clearway"]}
#: The colours of slices, by the first word of their names.
COLOURS = {
    "data": "#3b6fc4",
    "credit": "#c0763a",
    "credit-request": "#2f8f6b",
    "syn": "#2f8f6b",
    "credit-stop": "#8a4fbf",
}
OTHER = "#7b8794"
DROP = "#b3261e"


def page_with_blocks(page: str, run: clearway.Run, tshark: str) -> str:
    """The page with its blocks of tshark's output written anew."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "trace-incast.pcapng").write_bytes(run.traces["incast"].files["trace-incast.pcapng"])
        for name, arguments in BLOCKS.items():
            command = [tshark, "-X", f"lua_script:{DISSECTOR}", "-r", "trace-incast.pcapng", *arguments]
            environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
            text = "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())
            pattern = rf"(<!-- tshark: {name} -->\n```text elsewhere\n).*?(```)"
            found = re.search(pattern, page, flags=re.DOTALL)
            if found is None:
                sys.exit(f"{PAGE}: there is no block <!-- tshark: {name} -->")
            page = page[: found.end(1)] + text + "\n" + page[found.start(2) :]
    return page


def read(content: bytes) -> tuple[dict[int, Any], dict[int, list[tuple[float, Any]]]]:
    """The tracks of a Perfetto trace and the events of each, with their times in microseconds."""
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(content)
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    events: dict[int, list[tuple[float, Any]]] = {uuid: [] for uuid in tracks}
    for packet in trace.packet:
        if packet.HasField("track_event"):
            events[packet.track_event.track_uuid].append((packet.timestamp / 1000, packet.track_event))
    return tracks, events


def draw(content: bytes, path: Path) -> None:
    """Draws the tracks of a Perfetto trace: slices as bars, counters as steps, drops as crosses."""
    tracks, events = read(content)
    shown = [uuid for uuid in tracks if events[uuid]]
    mpl.rcParams.update({"svg.hashsalt": "clearway", "svg.fonttype": "none", "font.size": 10})
    heights = [1.6 if tracks[uuid].HasField("counter") else 0.7 for uuid in shown]
    figure, axes = plt.subplots(
        len(shown), 1, sharex=True, figsize=(9.2, 0.42 * sum(heights) + 1.2), height_ratios=heights, squeeze=False
    )
    for axis, uuid in zip(axes[:, 0], shown, strict=True):
        track = tracks[uuid]
        axis.set_ylabel(track.name, rotation=0, ha="right", va="center")
        for side in ("top", "right", "left"):
            axis.spines[side].set_visible(False)
        if track.HasField("counter"):
            times, values = zip(*((at, event.counter_value) for at, event in events[uuid]), strict=True)
            axis.step(times, values, where="post", color="#1f2933", linewidth=1)
            axis.fill_between(times, values, step="post", color="#c9d3de")
            unit = "B" if track.counter.unit == track.counter.UNIT_SIZE_BYTES else ""
            axis.set_yticks([0, max(values)], ["0", f"{max(values):,} {unit}".strip()])
            continue
        axis.set_yticks([])
        begun = None
        for at, event in events[uuid]:
            if event.type == event.TYPE_SLICE_BEGIN:
                begun = (at, event)
            elif event.type == event.TYPE_SLICE_END and begun:
                colour = COLOURS.get(begun[1].name.split()[0], OTHER)
                axis.broken_barh([(begun[0], at - begun[0])], (0, 1), facecolor=colour)
                begun = None
            elif event.type == event.TYPE_INSTANT:
                axis.plot(at, 0.5, "x", color=DROP, markersize=6)
    for axis in axes[:-1, 0]:
        axis.tick_params(axis="x", length=0)
    axes[-1, 0].set_xlabel("time in microseconds")
    handles: list[Any] = [Rectangle((0, 0), 1, 1, color=COLOURS[kind]) for kind in ("data", "credit", "credit-request")]
    handles.append(Rectangle((0, 0), 1, 1, color=OTHER))
    handles += plt.plot([], [], "x", color=DROP)
    labels = ["data", "credit", "request or SYN", "flow", "drop of a credit"]
    figure.legend(handles, labels, loc="upper center", ncols=5, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    """Writes the page's blocks and its picture."""
    tshark = shutil.which("tshark")
    if tshark is None:
        sys.exit("tools/traces.py: tshark is not installed (apt-get install tshark)")
    run = clearway.run(SCENARIO)
    PAGE.write_text(page_with_blocks(PAGE.read_text("utf-8"), run, tshark), "utf-8")
    draw(run.traces["incast"].files["trace-incast.perfetto-trace"], PICTURE)


if __name__ == "__main__":
    main()
