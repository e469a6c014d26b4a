"""Traces: what tshark and Perfetto's own classes read in their files is what the tables of the run say."""

from __future__ import annotations

import importlib.util
import itertools
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import REPOSITORY
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from skips import program, skip

import clearway
from clearway.traces import DISSECTOR

INCAST = """
name = "incast"
seed = 3
stop = "20 ms"
[topology]
kind = "star"
hosts = 6
[switch]
buffer = "60 KB"
marking = "15 KB"
[[loss]]
probability = 0.002
[transport]
name = "{}"
[[traffic]]
name = "burst"
kind = "incast"
senders = 5
size = "{}"
[[trace]]
name = "incast"
"""
#: The fields that tshark is asked for, with the columns of our table that they must equal.
NUMBERS = {
    "frame.packet_id": "packet",
    "clearway.number": "credit",
    "clearway.credit": "credit",
    "clearway.offset": "offset",
    "clearway.ack": "ack",
}
OTHERS = [
    "frame.interface_name",
    "frame.time_epoch",
    "frame.comment",
    "frame.len",
    "clearway.kind",
    "clearway.session",
    "clearway.flags.last",
    "clearway.int.hops",
    "clearway.int.hop.queued",
    "clearway.int.hop.rate",
    "clearway.rcp.rate",
    "infiniband.bth.opcode",
    "tcp.flags",
    "ip.dsfield.ecn",
    "ip.checksum.status",
    "_ws.malformed",
    "_ws.lua.text",
    "_ws.expert.message",
]


@pytest.fixture(scope="session")
def runs() -> dict[str, clearway.Run]:
    """An incast with losses and marks under every transport, with a trace of everything."""
    names = [str(transport["name"]) for transport in clearway.transports()]
    # PACC looks at its queues at intervals, so only longer flows hear of them.
    sizes = {"pacc": "400 KB"}
    return {name: clearway.run(INCAST.format(name, sizes.get(name, "30 KB"))) for name in names}


def dissect(capture: Path) -> pl.DataFrame:
    """What tshark reads in a capture, a row a packet."""
    tshark = program("tshark")
    fields = [*NUMBERS, *OTHERS]
    asked = list(itertools.chain.from_iterable(("-e", field) for field in fields))
    script = ["-X", f"lua_script:{DISSECTOR}", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    command = [tshark, *script, "-r", str(capture), "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Lua" not in done.stderr, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return pl.DataFrame(rows, schema=fields, orient="row")


@pytest.fixture(scope="session")
def read(runs: dict[str, clearway.Run], tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """What tshark reads in the capture of each run."""
    found = {}
    for name, run in runs.items():
        capture = tmp_path_factory.mktemp("traces") / f"{name}.pcapng"
        capture.write_bytes(run.traces["incast"].files["trace-incast.pcapng"])
        found[name] = dissect(capture)
    return found


def records(run: clearway.Run) -> pl.DataFrame:
    """The events that have a record in a capture: what is transmitted, and what is dropped before."""
    lost = (pl.col("event") == "drop") & (pl.col("reason") != "random loss")
    return run.trace().filter((pl.col("event") == "transmit") | lost)


def test_tshark_reads_every_packet_of_every_transport_at_its_port_and_time_and_finds_nothing_malformed(
    runs: dict[str, clearway.Run], read: dict[str, pl.DataFrame]
) -> None:
    for name, run in runs.items():
        rows, ours = read[name], records(run)
        assert rows["frame.interface_name"].to_list() == ours["port"].to_list(), name
        seconds = [f"{ps // 1000 // 10**9}.{ps // 1000 % 10**9:09d}" for ps in ours["time_ps"]]
        assert rows["frame.time_epoch"].to_list() == seconds, name
        kinds = ["" if kind == "pause" else kind for kind in ours["kind"]]
        assert rows["clearway.kind"].to_list() == kinds, name
        for fault in ("_ws.malformed", "_ws.lua.text"):
            assert rows[fault].unique().to_list() == [""], (name, fault)
        assert not rows["_ws.expert.message"].str.contains("(?i)bogus|unknown|checksum").any(), name
        assert set(rows["ip.checksum.status"].unique()) <= {"", "1"}, f"{name}: IPv4 checksums are good"


def test_the_numbers_that_tshark_names_are_those_of_the_table(
    runs: dict[str, clearway.Run], read: dict[str, pl.DataFrame]
) -> None:
    named: set[str] = set()
    for name, run in runs.items():
        rows, ours = read[name], records(run)
        for field, column in NUMBERS.items():
            for text, value in zip(rows[field], ours[column], strict=True):
                if text:
                    assert int(text) == int(value), (name, field)
                    named.add(field)
    assert named == set(NUMBERS)


def test_credits_telemetry_notifications_and_rates_are_named(read: dict[str, pl.DataFrame]) -> None:
    def some(transport: str, field: str, value: str | None = None) -> bool:
        column = read[transport][field]
        return bool((column != "").any() if value is None else (column == value).any())

    for transport in ("expresspass", "expresspass-hotnets16", "naive-credit", "ec4"):
        assert some(transport, "clearway.kind", "credit")
        assert some(transport, "clearway.session")
        assert some(transport, "clearway.flags.last", "1") or some(transport, "clearway.flags.last", "True")
    assert some("expresspass", "clearway.kind", "credit-request") or some("expresspass", "clearway.kind", "syn")
    assert some("expresspass", "clearway.kind", "credit-stop")
    assert some("hpcc", "clearway.int.hop.queued")
    assert some("hpcc", "clearway.int.hop.rate")
    for transport in ("dcqcn", "pacc"):
        assert some(transport, "clearway.kind", "cnp"), transport
        assert some(transport, "infiniband.bth.opcode", "129"), transport
    assert some("rcp", "clearway.rcp.rate")
    assert some("dctcp", "ip.dsfield.ecn", "3")


def test_marks_drops_and_losses_are_remarks_on_packets(
    runs: dict[str, clearway.Run], read: dict[str, pl.DataFrame]
) -> None:
    found = 0
    for name, run in runs.items():
        events = run.trace()
        remarks = read[name]["frame.comment"]
        reasons = {"buffer": "buffer", "credit limit": "credit limit", "random loss": "random loss"}
        for reason in reasons:
            dropped = events.filter(pl.col("reason") == reason).height
            assert remarks.str.contains(rf"dropped here \({reason}\)").sum() == dropped, (name, reason)
            found += dropped
        marks = events.filter(pl.col("event") == "mark")
        sent = events.filter(pl.col("event") == "transmit").select("packet", "port")
        marked = marks.join(sent, on=["packet", "port"]).height
        assert remarks.str.contains("marked here").sum() == marked, name
        found += marked
    assert found > 100
    assert runs["dctcp"].trace().filter(pl.col("event") == "mark").height > 0


def test_a_frame_is_as_long_as_the_simulator_counts_unless_its_headers_need_more(
    runs: dict[str, clearway.Run], read: dict[str, pl.DataFrame]
) -> None:
    for name, run in runs.items():
        counted = records(run)["wire_bytes"].to_list()
        lengths = read[name]["frame.len"].cast(pl.Int64).to_list()
        kinds = records(run)["kind"].to_list()
        for wire, length, kind in zip(counted, lengths, kinds, strict=True):
            if kind != "pause":
                assert length >= wire - 24, name
            if name == "expresspass":
                assert length == max(60, wire - 24), kind


def perfetto_trace(run: clearway.Run) -> Any:
    """A run's Perfetto trace, read by Perfetto's own classes."""
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(run.traces["incast"].files["trace-incast.perfetto-trace"])
    return trace


class Tracks:
    """The tracks of a Perfetto trace, with their events in order."""

    def __init__(self, trace: Any) -> None:
        described = [packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")]
        self.names = {track.uuid: track.name for track in described}
        self.parents = {track.name: self.names.get(track.parent_uuid, "") for track in described}
        self.counters = {track.name for track in described if track.HasField("counter")}
        self.events: dict[str, list[tuple[int, Any]]] = {name: [] for name in self.names.values()}
        times = []
        for packet in trace.packet:
            if packet.HasField("track_event"):
                times.append(packet.timestamp)
                self.events[self.names[packet.track_event.track_uuid]].append((packet.timestamp, packet.track_event))
        assert times == sorted(times), "events stand in the order of their times"
        assert len(self.names) == len(described), "no two tracks have one uuid"

    def slices(self, name: str) -> list[tuple[int, int, Any]]:
        """The slices of a track: begin, end, and the event that began it. None overlap."""
        found: list[tuple[int, int, Any]] = []
        begun: tuple[int, Any] | None = None
        for at, event in self.events[name]:
            if event.type == event.TYPE_SLICE_BEGIN:
                assert begun is None, f"{name}: a slice begins in another one"
                begun = (at, event)
            elif event.type == event.TYPE_SLICE_END:
                assert begun is not None, f"{name}: a slice ends that has not begun"
                found.append((begun[0], at, begun[1]))
                begun = None
        assert begun is None, f"{name}: a slice has no end"
        return found


def notes(event: Any) -> dict[str, int | str]:
    """The remarks on an event."""
    return {
        note.name: note.string_value if note.HasField("string_value") else note.uint_value
        for note in event.debug_annotations
    }


def test_perfetto_reads_the_transmissions_of_every_port_of_every_transport(runs: dict[str, clearway.Run]) -> None:
    for name, run in runs.items():
        tracks, events = Tracks(perfetto_trace(run)), run.trace()
        for (port,), rows in events.group_by("port", maintain_order=True):
            sent = rows.filter(pl.col("event") == "transmit")
            slices = tracks.slices(str(port))
            assert tracks.parents[str(port)] == "ports"
            assert [begin for begin, _, _ in slices] == [ps // 1000 for ps in sent["time_ps"]], (name, port)
            ends = [end for _, end, _ in slices]
            assert ends == [int(ps) // 1000 for ps in (sent["left_s"] * 1e12).round(0)], (name, port)
            flows = sent.filter(pl.col("kind") != "pause")
            told = [event for _, _, event in slices if event.name != "pause frame"]
            assert [event.name for event in told] == (flows["kind"] + " " + flows["flow"]).to_list()
            assert [list(event.flow_ids) for event in told] == [[number] for number in flows["packet"]]
            assert [notes(event)["wire_bytes"] for event in told] == flows["wire_bytes"].to_list()


def test_perfetto_reads_the_queues_after_every_event(runs: dict[str, clearway.Run]) -> None:
    for name, run in runs.items():
        tracks, events = Tracks(perfetto_trace(run)), run.trace()
        for (port,), rows in events.group_by("port", maintain_order=True):
            for track, column in ((f"{port} queue", "queue_bytes"), (f"{port} credits", "queue_credits")):
                if column == "queue_credits" and rows[column].max() == 0:
                    assert track not in tracks.counters
                    continue
                assert track in tracks.counters
                assert tracks.parents[track] == port
                read = [(at, event.counter_value) for at, event in tracks.events[track]]
                times = [ps // 1000 for ps in rows["time_ps"]]
                assert read == list(zip(times, rows[column], strict=True)), (name, track)


def test_perfetto_reads_flows_from_start_to_end_with_their_marks_and_drops(runs: dict[str, clearway.Run]) -> None:
    found = 0
    for name, run in runs.items():
        tracks, events = Tracks(perfetto_trace(run)), run.trace()
        for row in run.flows.iter_rows(named=True):
            track = f"{row['traffic']}/{row['flow']}"
            assert tracks.parents[track] == "flows", (name, track)
            ((begin, end, event),) = tracks.slices(track)
            assert begin == round(row["start_s"] * 1e12) // 1000
            if row["fct_s"] == row["fct_s"]:  # the flow has ended
                assert abs(end - begin - row["fct_s"] * 1e9) <= 1, (name, track)
            assert notes(event)["src"] == row["src"]
            trouble = events.filter((pl.col("flow") == track) & pl.col("event").is_in(["mark", "trim", "drop"]))
            instants = [one for _, one in tracks.events[track] if one.type == one.TYPE_INSTANT]
            assert [one.name for one in instants] == (trouble["event"] + " " + trouble["kind"]).to_list()
            assert [notes(one)["port"] for one in instants] == trouble["port"].to_list()
            found += len(instants)
    assert found > 100


def test_a_trace_is_saved_and_loaded_with_its_run_and_changes_no_hash(tmp_path: Path) -> None:
    text = INCAST.format("expresspass", "30 KB")
    run = clearway.run(text)
    assert run.hash == clearway.run(text.partition("[[trace]]")[0]).hash
    assert run.hash == clearway.run(text, set={"trace.incast.flows": "['burst/0..1']"}).hash
    folder = run.save(tmp_path / "run")
    names = {file.name for file in folder.iterdir() if file.name.startswith("trace-")}
    assert names == {"trace-incast.parquet", "trace-incast.pcapng", "trace-incast.perfetto-trace"}
    loaded = clearway.load(folder)
    assert loaded.trace("incast").equals(run.trace())
    assert loaded.traces["incast"].files == run.traces["incast"].files
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / "trace-incast.pcapng").read_bytes() == (folder / "trace-incast.pcapng").read_bytes()


def test_the_summary_says_how_many_events_a_limit_left_out() -> None:
    run = clearway.run(INCAST.format("dctcp", "30 KB"), set={"trace.incast.limit": 50})
    whole = clearway.run(INCAST.format("dctcp", "30 KB")).trace()
    assert run.summary["traces"] == {"incast": {"events": 50, "left_out": whole.height - 50}}
    assert run.trace().equals(whole.head(50))


def test_only_the_chosen_formats_are_written() -> None:
    run = clearway.run(INCAST.format("dctcp", "30 KB"), set={"trace.incast.format": "['perfetto']"})
    assert list(run.traces["incast"].files) == ["trace-incast.perfetto-trace"]


def test_a_trace_that_is_not_there_is_named() -> None:
    run = clearway.run(INCAST.format("dctcp", "30 KB").partition("[[trace]]")[0])
    with pytest.raises(clearway.Error, match=r"trace 'web': .*there is no such trace.*\[\[trace\]\]"):
        run.trace("web")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('flows = ["brust"]', r"trace\.0\.flows\.0.*\"brust\" is no traffic entry.*burst"),
        ('flows = ["burst/x"]', r'flows.*"x" is no number of a flow; write a traffic entry'),
        ('flows = ["burst/3..1"]', r"3 is above 1; write the smaller number first"),
        ("flows = []", r'flows.*is empty; write a list such as \["burst/0\.\.9"\]'),
        ('ports = ["h0->h1"]', r"ports.*no link joins h0 and h1"),
        ('hosts = ["h9"]', r'hosts.*there is no host "h9"'),
        ('from = "2 ms"\nuntil = "1 ms"', r'until = .*must be later than from = "2 ms"'),
        ('name = "../x"', r"name"),
        ('name = "a/b"', r"names a file; write at most"),
        ('format = ["pcap"]', r'write "pcapng" or "perfetto"'),
        ("limit = 0", r"limit"),
    ],
)
def test_a_wrong_key_of_a_trace_is_refused_with_the_key_and_what_would_be_right(keys: str, message: str) -> None:
    text = INCAST.format("dctcp", "30 KB").partition("[[trace]]")[0] + "[[trace]]\n" + keys + "\n"
    with pytest.raises(clearway.ScenarioError, match=message):
        clearway.run(text)


def test_the_page_shows_what_tshark_prints() -> None:
    tshark = shutil.which("tshark")
    version = subprocess.run([tshark, "--version"], capture_output=True, text=True, check=True).stdout if tshark else ""
    if tshark is None or not version.startswith("TShark (Wireshark) 4.0."):
        skip("tshark 4.0, whose output the page shows", "apt-get install tshark on Debian 12")
    spec = importlib.util.spec_from_file_location("traces_tool", REPOSITORY / "tools" / "traces.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (REPOSITORY / "docs" / "how-to" / "traces.md").read_text("utf-8")
    assert tool.page_with_blocks(page, clearway.run(REPOSITORY / "scenarios" / "incast-trace.toml"), tshark) == page
