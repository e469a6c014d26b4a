"""Files that people name: sweep files and others are read whole, or refused in one line, whatever they are."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import REPOSITORY, SMALL, Cli

import clearway
from clearway import reading
from clearway.scenario import keys
from clearway.sweeps import file
from clearway.sweeps import run as running

SWEEP = """\
scenario = "small.toml"
name = "all"

[set]
"traffic.burst.rounds" = 1

[cases.variant]
half = {transport = "expresspass", "transport.alpha" = 0.5}
dctcp = {transport = "dctcp"}

[axes]
seed = {from = 1, to = 2}

[[zip]]
"topology.rate" = ["10 Gbps", "40 Gbps"]
"switch.buffer" = ["100 KB", "400 KB"]

[[exclude]]
variant = "half"
"topology.rate" = "10 Gbps"

[[point]]
transport = "cubic"
seed = 1

[labels]
"topology.rate" = "rate"
"""

#: Commands that read a file, with the place of its name.
READERS = [
    ["sweep", "FILE", "--dry-run"],
    ["run", "FILE"],
    ["check", "FILE"],
    ["compare", "FILE", "--transports", "dctcp"],
    ["show", "FILE"],
    ["show", "star", "hosts=3", "--out", "FILE"],
    ["plan", "buffers", "FILE"],
    ["plan", "switch", "FILE", "--target", "sonic"],
    ["report", "FILE"],
    ["export", "FILE", "--as", "csv-flows"],
]


@pytest.mark.parametrize("arguments", READERS, ids=lambda words: " ".join(words))
def test_a_pipe_is_refused_in_a_line_by_every_command_that_reads_a_file(
    arguments: list[str], cli: Cli, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    done = cli(*["pipe.toml" if word == "FILE" else word for word in arguments])
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "pipe.toml" in done.stderr


@pytest.mark.parametrize("name", ["summary.json", "scenario.toml", "flows.parquet"])
def test_a_pipe_in_a_folder_of_results_is_refused_in_a_line(name: str, cli: Cli, tmp_path: Path) -> None:
    clearway.run(SMALL, out=tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    os.mkfifo(tmp_path / "run" / name)
    # The live page reads no tables.
    for command in ("report",) if name == "flows.parquet" else ("report", "view"):
        done = cli(command, "run")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"seed = \xff", "is not UTF-8; save it as UTF-8 text"),
        (b"seed = = 1", "is not TOML: Invalid value"),
        (b"a = " + b"[" * 2000 + b"]" * 2000, "over more than 50 levels"),
        (b"a = " + b"[" * 60 + b"]" * 60, "over more than 50 levels"),
        (b"a." * 2000 + b"a = 1", "over more than 50 levels"),
        (b"a = " + b"9" * 5000, "is not TOML: Exceeds the limit"),
        (b"a = 0x1" + b"0" * 5000, "which has more than 64 bits"),
        (b"a = 18446744073709551616", "which has more than 64 bits"),
        (b"#" * (reading.TEXT_MAX + 1), "is too large, 16000001 bytes; the limit is 16000000"),
    ],
    ids=["no text", "no TOML", "deep", "deep too", "deep keys", "long", "long too", "large number", "large file"],
)
def test_a_sweep_file_has_the_limits_of_a_scenario_file(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_bytes(content)
    with pytest.raises(clearway.Error) as caught:
        file.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert keys.read(path) == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/dev/zero", "is no file; name a text file"),
        (".", "is a directory; name a text file"),
        ("gone", "can't be read"),
    ],
)
def test_what_is_no_file_is_no_sweep(name: str, message: str) -> None:
    with pytest.raises(clearway.Error, match=message):
        file.read(name)


def test_a_text_with_the_mark_of_a_spreadsheet_is_a_sweep_file(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "sweep.toml").write_text("\ufeff" + SWEEP, "utf-8")
    assert file.read(tmp_path / "sweep.toml").name == "all"


@pytest.mark.parametrize(
    "value",
    ['"1e999999999 B"', "1e308", '"' + "9" * 5000 + ' B"', "-1e308"],
    ids=["exponent", "number", "digits", "negative"],
)
def test_a_number_that_no_scenario_has_is_refused_before_it_takes_memory(value: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    path = tmp_path / "sweep.toml"
    for values in (f"[{value}]", f'{{from = "1 B", to = {value}, steps = 3, scale = "log"}}'):
        path.write_text(f'scenario = "small.toml"\n[axes]\ntraffic.burst.size = {values}\n')
        with pytest.raises(clearway.Error, match=r"traffic\.burst\.size"):
            running.Plan.of(file.read(path), tmp_path / "out", None)


#: Pieces that a mutation puts in.
PIECES = [
    *("seed", "[axes]", "[[zip]]", "[cases.x]", "[[point]]", "[[exclude]]", "[labels]", "[set]", "{", "}", "[", "]"),
    *('"', "=", "1e999", "1e308", "-1", "nan", "inf", '"auto"', "1e-400", "\n", "\0", "{from = 1, to = 3}", '"\\n"'),
    *('{from = "1 KB", to = "1e30 KB", steps = 4, scale = "log"}', "0xffffffffffffffffffff", '""', "true", "[[1]]"),
    *("{a = {b = {c = 1}}}", "scenario", "transport", "18446744073709551616", '"1e9999 KB"', "1979-05-27", "07:32:00"),
    *(".", "..", "/dev/zero", "steps", "scale", "step = 0", '"\\u0000"', "\x85", "\u2028", "\ud800"),
]


def mutated(text: str, chance: random.Random) -> bytes:
    """A text with one to five places changed: taken away, replaced, repeated, or a bit of it flipped."""
    for _ in range(chance.choice([1, 1, 1, 2, 3, 5])):
        at = chance.randrange(len(text) + 1)
        rest = text[at + chance.choice([0, 1, 2, 5, 20]) :]
        lines = text.splitlines(keepends=True)
        text = chance.choice(
            [
                text[:at] + rest,
                text[:at] + chance.choice(PIECES) + rest,
                text[:at] + chr(chance.randrange(256)) + rest,
                text[:at] + chance.choice(lines or [""]) + text[at:],
                "".join(chance.sample(lines, len(lines))) if chance.random() < 0.3 else text,
                text[:at]
                + "".join(chr(ord(one) ^ 1 << chance.randrange(7)) for one in text[at : at + 1])
                + text[at + 1 :],
            ]
        )
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("times", [200, pytest.param(20_000, marks=pytest.mark.full)])
def test_a_mutated_sweep_file_is_a_sweep_or_refused_in_a_line(times: int, tmp_path: Path) -> None:
    chance, refused = random.Random(26), list[str]()
    (tmp_path / "small.toml").write_text(SMALL)
    path = tmp_path / "sweep.toml"
    shipped = (
        (REPOSITORY / "scenarios" / "sweeps" / "buffers.toml").read_text("utf-8").replace('"incast"', '"small.toml"')
    )
    for _ in range(times):
        path.write_bytes(mutated(chance.choice([SWEEP, shipped]), chance))
        try:
            spec = file.read(path)
            if all(len(axis.choices) < 50 for axis in spec.axes):
                running.Plan.of(spec, tmp_path / "out", None)
        except clearway.Error as error:
            refused.append(str(error))
    print(f"{len(refused)} of {times} were refused")
    assert times / 2 < len(refused) < times
    assert [text for text in refused if "\n" in text or not text.startswith(f"{path}: ")] == []
    assert not (tmp_path / "out").exists()


def test_the_command_refuses_a_mutated_sweep_file_in_a_line_with_code_2(tmp_path: Path) -> None:
    chance, codes = random.Random(27), Counter[int]()
    (tmp_path / "small.toml").write_text(SMALL)
    for number in range(20):
        (tmp_path / f"{number}.toml").write_bytes(mutated(SWEEP, chance))
    program = (
        "import sys\nfrom clearway.command import guarded\n"
        "for number in range(20):\n"
        "    sys.argv = ['clearway', 'sweep', f'{number}.toml', '--dry-run', '--quiet']\n"
        "    print(guarded())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    codes.update(map(int, done.stdout.split()))
    assert {*codes} == {0, 2}
    assert codes[2] == done.stderr.count("\n") == done.stderr.count("clearway: ")
