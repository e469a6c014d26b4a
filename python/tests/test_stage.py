"""Runs that are looked at while they go on, through Python."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import clearway
from clearway._clearway import Stage

INCAST = Path(__file__).parents[2] / "scenarios/incast.toml"


def ask(stage: Stage, **request: Any) -> Any:
    """The answer to a request, in JSON."""
    answer = stage.handle(json.dumps(request))
    assert isinstance(answer, str)
    return json.loads(answer)


def test_a_run_in_steps_has_the_hash_of_one_at_which_nobody_looks() -> None:
    stage = Stage()
    assert ask(stage, op="open", run=0, name="incast", text=INCAST.read_text())["transports"] == ["expresspass"]
    now = 0
    while not ask(stage, op="advance", run=0, until_ps=(now := now + 1_234_567_890))["ended"]:
        frame = stage.handle('{"op": "frame", "run": 0}')
        assert isinstance(frame, bytes)
        magic, run, at = struct.unpack_from("<IId", frame)
        assert (magic, run, at) == (0x33465743, 0, now)
    assert ask(stage, op="result", run=0)["hash"] == clearway.run(INCAST).hash


def test_a_refused_request_is_answered_with_one_line() -> None:
    stage = Stage(memory=1_000)
    answer = ask(stage, op="open", run=0, name="incast", text=INCAST.read_text())
    assert list(answer) == ["error"]
    assert "memory" in answer["error"]
    assert "\n" not in answer["error"]
    assert "no operation" in ask(stage, op="fly")["error"]


def test_files_are_taken_as_text_and_as_bytes() -> None:
    stage = Stage()
    assert ask(stage, op="files", files={"a.csv": "x", "b.gz": {"base64": "H4s="}}) == {"files": 2}
