"""The Grafana dashboard of the daemon: it asks for what the daemon exports, and Grafana can import it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from conftest import REPOSITORY

PAGE = REPOSITORY / "docs/how-to/clearwayd.md"
DASHBOARD = json.loads((REPOSITORY / "packaging/grafana-dashboard.json").read_text())
#: The labels that Prometheus adds, that every metric has, and that `clearway_info` has.
COMMON = {"instance", "dev"}


def exported() -> dict[str, set[str]]:
    """The metrics that the page lists, which a test of the testbed compares with running daemons, and their labels."""
    table = PAGE.read_text().partition("<!-- metrics -->")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(clearway_\w+)`(?: by ((?:`\w+`(?:, )?)+))? \|", table, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", by)) | COMMON for name, by in rows}


def panels() -> Iterator[dict[str, Any]]:
    """All panels, those in collapsed rows too."""
    for panel in DASHBOARD["panels"]:
        yield panel
        yield from panel.get("panels", [])


def expressions() -> list[tuple[str, str, str]]:
    """The title of a panel, an expression, and the legend of its lines."""
    return [
        (panel["title"], target["expr"], target["legendFormat"])
        for panel in panels()
        for target in panel.get("targets", [])
    ]


def test_every_metric_of_the_dashboard_is_one_that_the_daemon_exports() -> None:
    known = exported()
    assert len(known) > 50
    queries = [
        (one["name"], one["definition"], "") for one in DASHBOARD["templating"]["list"] if one["type"] == "query"
    ]
    for title, expression, _ in [*expressions(), *queries]:
        names = re.findall(r"clearway_\w+", expression)
        assert names, title
        assert set(names) <= set(known), title


def test_the_labels_in_expressions_and_legends_are_labels_of_their_metrics() -> None:
    known = exported()
    for title, expression, legend in expressions():
        had = set.intersection(*(known[name] for name in re.findall(r"clearway_\w+", expression)))
        grouped = {label.strip() for by in re.findall(r"\bby \(([^)]*)\)", expression) for label in by.split(",")}
        assert grouped <= had, title
        shown = set(re.findall(r"\{\{(\w+)\}\}", legend))
        assert shown <= (grouped or had), title


def test_counters_are_shown_as_rates_and_gauges_as_they_are() -> None:
    for title, expression, _ in expressions():
        for before, name in re.findall(r"(\w*\(?)(clearway_\w+)", expression):
            assert name.endswith("_total") == (before in {"rate(", "increase("}), (title, name)


def test_what_an_operator_asks_first_is_on_the_dashboard() -> None:
    asked = {name for _, expression, _ in expressions() for name in re.findall(r"clearway_\w+", expression)}
    assert asked >= {
        "clearway_credited_bytes_total",
        "clearway_plain_bytes_total",
        "clearway_credits_sent_total",
        "clearway_credits_used_total",
        "clearway_credits_dropped_total",
        "clearway_packets_held",
        "clearway_hold_seconds_total",
        "clearway_peers",
        "clearway_signals_limited_total",
        "clearway_process_cpu_seconds_total",
        "clearway_data_waiting",
    }


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    ids = [panel["id"] for panel in panels()]
    assert len(ids) == len(set(ids))
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_the_dashboard_asks_for_its_data_source_and_names_none() -> None:
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    assert (variables["datasource"]["type"], variables["datasource"]["query"]) == ("datasource", "prometheus")
    for panel in panels():
        for holder in [panel, *panel.get("targets", [])]:
            if panel["type"] != "row":
                assert holder["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]
    used = set(re.findall(r"\$(\w+)", " ".join(expression for _, expression, _ in expressions())))
    assert used - {"__rate_interval"} <= set(variables)
