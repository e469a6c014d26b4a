"""Scenario files: those of the repository load, and damaged ones are refused without a panic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, SMALL
from hypothesis import given, settings
from hypothesis import strategies as st

import clearway
from clearway.runner import Source, load_scenario

SCENARIOS = sorted((REPOSITORY / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_of_the_repository_loads(path: Path) -> None:
    for transport in (None, "expresspass", "dctcp"):
        loaded = load_scenario(path, transport=transport)
        assert load_scenario(loaded.to_toml()).to_toml() == loaded.to_toml()


def refused_or_read(scenario: Source, **overrides: Any) -> None:
    """Either it can be read, or the refusal is one line that is no excuse for a panic."""
    refusal = ""
    try:
        load_scenario(scenario, **overrides)
    except clearway.ScenarioError as error:
        refusal = str(error)
    assert "\n" not in refusal
    assert "internal error" not in refusal


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_scenario_is_refused_or_read(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(SMALL)))
    end = data.draw(st.integers(start, min(len(SMALL), start + 12)))
    refused_or_read(SMALL[:start] + data.draw(st.text(max_size=8)) + SMALL[end:] + "\n")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.text(max_size=20))
def test_any_setting_is_refused_or_read(key: str, value: str) -> None:
    refused_or_read(SMALL, set={key: value})


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_value_in_a_dict_is_refused_or_read(value: object) -> None:
    refused_or_read({"name": "odd", "seed": value})
