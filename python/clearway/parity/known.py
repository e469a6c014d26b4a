"""Differences from the authors' simulators of which the cause is known, as `known.toml` lists them."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.parity.case import Case


@cache
def known() -> list[dict[str, str]]:
    """The entries: `case`, `list`, `size` (the name of the bucket), `measure` (`mean` or `p99`) and `cause`."""
    text = (files("clearway.parity") / "known.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text).get("difference", []))


def causes_of(case: Case, flow_list: str, bucket: str) -> dict[str, str]:
    """The cause of each measure of a bucket that is known to differ."""
    return {
        one["measure"]: one["cause"]
        for one in known()
        if (one["case"], one["list"], one["size"]) == (case.name, flow_list, bucket)
    }
