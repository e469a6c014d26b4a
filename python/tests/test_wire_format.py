"""The wire format of the Linux datapath: tshark with our dissector reads what its page specifies."""

from __future__ import annotations

import itertools
import re
import socket
import struct
import subprocess
from pathlib import Path

import skips
from conftest import REPOSITORY

from clearway.traces import DISSECTOR

PAGE = (REPOSITORY / "docs" / "reference" / "wire-format.md").read_text("utf-8")
LINK = bytes.fromhex("020000000002020000000001")
SOURCE, DESTINATION = bytes([10, 0, 0, 2]), bytes([10, 0, 0, 1])
SOURCE6, DESTINATION6 = (socket.inet_pton(socket.AF_INET6, f"fd00:a:b:c::{host}") for host in (2, 1))
COOKIE = 0x0123456789ABCDEF
KINDS = {"credit-request": 4, "credit-stop": 5, "accept": 6, "stopped": 7, "credit": 9, "cnp": 10}


def control(kind: str, number: int = 0, value: int = 0, mtu: int = 0, flags: int = 0, version: int = 2) -> bytes:
    """A control frame of session 7 of the flow from 10.0.0.2:40000 to 10.0.0.1:5201."""
    head = struct.pack("!HBBBBI", 0x88B5, version, KINDS[kind], flags, 0, 7)
    flow = SOURCE + DESTINATION + struct.pack("!HH", 40_000, 5201)
    return LINK + head + flow + struct.pack("!QQQH", COOKIE, number, value, mtu)


def control6(kind: str, number: int = 0, value: int = 0, mtu: int = 0, flags: int = 0) -> bytes:
    """The same of the flow from [fd00:a:b:c::2]:40000 to [fd00:a:b:c::1]:5201."""
    frame = bytearray(control(kind, number, value, mtu, flags, version=3))
    frame[22:30] = SOURCE6[12:] + DESTINATION6[12:]
    return bytes(frame) + (b"" if kind == "credit" else SOURCE6[:12] + DESTINATION6[:12])


def data6(credit: int, dscp: int = 3, ecn: int = 0, flags: int = 0x18, label: int = 0xABCDE) -> bytes:
    """A data packet of 100 B of that flow that spends a credit."""
    ip = struct.pack("!IHBB", 6 << 28 | (dscp << 2 | ecn) << 20 | label, 120, 6, 64) + SOURCE6 + DESTINATION6
    tcp = struct.pack("!HHIIBBHHH", 40_000, 5201, 1, 1, 0x50, flags, 502, 0, credit & 0xFFFF)
    return LINK + b"\x86\xdd" + ip + tcp + bytes(100)


def data(credit: int, dscp: int = 3, ecn: int = 0, fragment: int = 0x4000) -> bytes:
    """A data packet of 100 B of the same flow that spends a credit."""
    ip = struct.pack("!BBHHHBBH", 0x45, dscp << 2 | ecn, 140, credit & 0xFFFF, fragment, 64, 6, 0)
    tcp = struct.pack("!HHIIBBHHH", 40_000, 5201, 1, 1, 0x50, 0x18, 502, 0, 0)
    return LINK + b"\x08\x00" + ip + SOURCE + DESTINATION + tcp + bytes(100)


def tshark(frames: list[bytes], capture: Path, *arguments: str) -> str:
    """What tshark prints of frames."""
    program = skips.program("tshark")
    records = (struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame for number, frame in enumerate(frames))
    capture.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1) + b"".join(records))
    command = [program, "-X", f"lua_script:{DISSECTOR}", "-r", str(capture), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


def dissect(frames: list[bytes], folder: Path, fields: list[str]) -> list[dict[str, str]]:
    """The fields that tshark reads in each frame, absent ones left out."""
    asked = itertools.chain.from_iterable(("-e", field) for field in fields)
    text = tshark(frames, folder / "frames.pcap", "-T", "fields", "-E", "separator=/t", *asked)
    rows = [line.split("\t") for line in text.split("\n")[: len(frames)]]
    return [{field: value for field, value in zip(fields, row, strict=True) if value} for row in rows]


def block(name: str) -> str:
    """The text block of the page below a comment of this name."""
    found = re.search(rf"<!-- {name} -->\n```text\n(.*?)```", PAGE, flags=re.DOTALL)
    assert found, name
    return found[1]


def table(head: str) -> list[list[str]]:
    """The rows of the page's table whose first row begins so, with their cells."""
    lines = PAGE[PAGE.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_field_of_a_kind_has_the_name_and_value_that_the_page_gives_it(tmp_path: Path) -> None:
    names = {"wanted", "rate", "number", "left", "mtu", "flags.wants_ecn"}
    values = {"number": 11, "value": 22, "mtu": 1500}
    frames = [control(kind, 11, 22, 1500, flags=1) for kind in KINDS]
    fields = ["clearway.kind", *(f"clearway.{name}" for name in names), "_ws.expert.message", "_ws.malformed"]
    rows = dissect(frames, tmp_path, fields)
    specified = {int(row[0]): row for row in table("| code | kind | way")}
    assert set(specified) == set(KINDS.values())
    for (kind, code), row in zip(KINDS.items(), rows, strict=True):
        expected = {"clearway.kind": kind}
        for cell, value in zip(specified[code][3:5], ("number", "value"), strict=True):
            for name in re.findall(r"`(clearway\.\w+)`", cell):
                expected[name] = str(values[value])
        if specified[code][5] != "0":
            expected["clearway.mtu"] = "1500"
        if specified[code][6] != "0":
            expected["clearway.flags.wants_ecn"] = "True" if "True" in row.values() else "1"
        assert row == expected, kind


def test_the_fields_that_all_kinds_have_stand_where_the_page_says(tmp_path: Path) -> None:
    rows = table("| offset | size | field")
    ends = list(itertools.accumulate((int(row[1]) for row in rows), initial=0))
    assert [int(row[0]) for row in rows] == ends[:-1], "each field begins where the one before ends"
    assert ends[-1] == 60
    frame = control("accept", 1, 2, 3, flags=1)
    fields = [row[3].strip("`") for row in rows if row[3].startswith("`")]
    (read,) = dissect([frame], tmp_path, fields)
    expected = {
        "eth.dst": "02:00:00:00:00:02",
        "eth.src": "02:00:00:00:00:01",
        "eth.type": "0x88b5",
        "clearway.version": "2",
        "clearway.code": "6",
        "clearway.session": "7",
        "clearway.flow.source": "10.0.0.2",
        "clearway.flow.destination": "10.0.0.1",
        "clearway.flow.source_port": "40000",
        "clearway.flow.destination_port": "5201",
        "clearway.cookie": f"{COOKIE:#018x}",
        "clearway.mtu": "3",
    }
    assert read.pop("clearway.flags.wants_ecn") in ("1", "True")
    assert {name: value.lower() for name, value in read.items()} == expected


def test_scheduled_data_shows_the_credit_that_it_spends(tmp_path: Path) -> None:
    frames = [
        data(5),  # The capture has no credit yet, so the upper bits are unknown.
        control("credit", 65_530),
        control("credit", 65_540),
        data(65_530),
        data(65_540, ecn=2),
        data(65_540, dscp=0),
        data(65_540, fragment=0),
        data(65_540, fragment=0x6000),
    ]
    rows = dissect(frames, tmp_path, ["clearway.credit", "clearway.credit.low", "clearway.number"])
    assert rows == [
        {"clearway.credit.low": "5"},
        {"clearway.number": "65530"},
        {"clearway.number": "65540"},
        {"clearway.credit.low": "65530", "clearway.credit": "65530"},
        {"clearway.credit.low": "4", "clearway.credit": "65540"},
        {},
        {},
        {},
    ]


def test_unknown_versions_and_kinds_are_called_so_and_padding_and_short_frames_do_no_harm(tmp_path: Path) -> None:
    unknown = bytearray(control("credit"))
    unknown[15] = 200
    frames = [
        control("credit", version=4),
        bytes(unknown),
        control6("accept")[:83],
        control("credit", 1) + bytes(100),
        control("credit", 1)[:40],
        control("credit", 1)[:15],
    ]
    fields = ["clearway.version", "clearway.number", "_ws.expert.message", "_ws.malformed", "_ws.lua.text"]
    rows = dissect(frames, tmp_path, fields)
    message = "Unknown version or kind"
    assert rows == [
        {"clearway.version": "4", "_ws.expert.message": message},
        {"clearway.version": "2", "_ws.expert.message": message},
        {},
        {"clearway.version": "2", "clearway.number": "1"},
        {},
        {},
    ]


def test_the_example_of_the_page_is_dissected_as_it_stands_there(tmp_path: Path) -> None:
    frame = bytes.fromhex("".join(line.partition("  ")[2] for line in block("example frame").splitlines()))
    assert frame == control("credit", 4711, 1_500_000_000)
    printed = tshark([frame], tmp_path / "example.pcap", "-O", "clearway")
    shown = printed[printed.index("Clearway, ") :].strip()
    assert shown == block("example dissected").strip()


def test_frames_of_ipv6_show_their_flow_by_whole_addresses_and_credits_by_the_lower_bits(tmp_path: Path) -> None:
    names = ["kind", "version", "flow.source6", "flow.destination6", "flow.source_low", "flow.destination_low"]
    names += ["flow.source_port", "session", "number", "rate", "mtu"]
    fields = [*(f"clearway.{name}" for name in names), "_ws.malformed", "_ws.lua.text"]
    frames = [control6("credit-request", 1, 100, 1500), control6("accept", 0, 100, 1500), control6("credit", 11, 22)]
    request, accept, credit = dissect([frame + bytes(3) for frame in frames], tmp_path, fields)
    assert request == {
        "clearway.kind": "credit-request",
        "clearway.version": "3",
        "clearway.flow.source6": "fd00:a:b:c::2",
        "clearway.flow.destination6": "fd00:a:b:c::1",
        "clearway.flow.source_port": "40000",
        "clearway.session": "7",
        "clearway.rate": "100",
        "clearway.mtu": "1500",
    }
    assert accept["clearway.flow.source6"] == "fd00:a:b:c::2"
    assert credit == {
        "clearway.kind": "credit",
        "clearway.version": "3",
        "clearway.flow.source_low": "00:00:00:02",
        "clearway.flow.destination_low": "00:00:00:01",
        "clearway.flow.source_port": "40000",
        "clearway.session": "7",
        "clearway.number": "11",
    }
    info = tshark(frames, tmp_path / "info.pcap").splitlines()
    assert "flow [fd00:a:b:c::2]:40000 > [fd00:a:b:c::1]:5201, session 7" in info[0]
    assert "flow [..:0:2]:40000 > [..:0:1]:5201, session 7, number 11" in info[2]


def test_scheduled_data_over_ipv6_shows_the_credit_that_it_spends(tmp_path: Path) -> None:
    frames = [
        data6(5),
        control6("credit", 65_540),
        data6(65_530),
        data6(65_540, ecn=2),
        data6(65_540, dscp=0),
        data6(65_540, flags=0x38),
    ]
    rows = dissect(frames, tmp_path, ["clearway.credit", "clearway.credit.low", "clearway.kind", "_ws.lua.text"])
    kind = {"clearway.kind": "data"}
    assert rows == [
        {"clearway.credit.low": "5", **kind},
        {"clearway.kind": "credit"},
        {"clearway.credit.low": "65530", "clearway.credit": "65530", **kind},
        {"clearway.credit.low": "4", "clearway.credit": "65540", **kind},
        kind,
        kind,
    ]


def datagram(frame: bytes, ipv6: bool) -> bytes:
    """The fields of a control frame in a UDP datagram to port 61021."""
    body = frame[14:60] + bytes(0 if ipv6 else 20)
    udp = struct.pack("!HHHH", 61021, 61021, 8 + len(body), 0) + body
    if ipv6:
        header = struct.pack("!IHBB", 6 << 28 | 11 << 22, len(udp), 17, 64) + SOURCE6 + DESTINATION6
        return LINK + b"\x86\xdd" + header + udp
    header = struct.pack("!BBHHHBBH", 0x45, 11 << 2, 20 + len(udp), 0, 0x4000, 64, 17, 0) + SOURCE + DESTINATION
    return LINK + b"\x08\x00" + header + udp


def test_control_frames_over_udp_are_dissected_by_their_port(tmp_path: Path) -> None:
    frames = [
        datagram(control("credit-request", 1, 100, 1500), ipv6=False),
        datagram(control6("credit-request", 1, 100, 1500), ipv6=True),
        datagram(control6("credit", 11, 22), ipv6=True),
    ]
    assert {len(frame) for frame in frames} == {108}
    fields = [
        "clearway.kind",
        "clearway.version",
        "clearway.flow.source",
        "clearway.flow.source_low",
        "clearway.number",
    ]
    request, request6, credit = dissect(frames, tmp_path, [*fields, "ip.dsfield.dscp", "_ws.lua.text"])
    kind = {"clearway.kind": "credit-request"}
    assert request == {**kind, "clearway.version": "2", "clearway.flow.source": "10.0.0.2", "ip.dsfield.dscp": "11"}
    assert request6 == {**kind, "clearway.version": "3", "clearway.flow.source_low": "00:00:00:02"}
    assert credit["clearway.number"] == "11"
