"""Tests on networks of namespaces: they run as root, one after the other, and are skipped elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest

from clearway.testbed import Network, Shape, binary, lacking


class Build(Protocol):
    """Makes a network for the test."""

    def __call__(self, **shape: Any) -> Network: ...


@pytest.fixture
def build() -> Iterator[Build]:
    """Makes networks of shapes that are given as keywords; they go when the test ends."""
    why = lacking("ping")
    if why:
        pytest.skip(why)
    with ExitStack() as stack:
        yield lambda **shape: stack.enter_context(Network(Shape(**shape)))


@pytest.fixture
def clearwayd() -> str:
    """The daemon's program; the test is skipped where it, or a program that it calls, is missing."""
    why = lacking("iptables", "ethtool")
    if why:
        pytest.skip(why)
    return str(binary())
