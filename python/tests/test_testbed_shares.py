"""What the testbed says of the bytes that daemons controlled: by their counters, in tables, headings and verdicts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import REPOSITORY, Cli

from clearway._clearway import Error
from clearway.testbed.control import Payload, congestion_controls, payload
from clearway.testbed.experiments import NAMES, find
from clearway.testbed.experiments.applications import notes
from clearway.testbed.merge import with_shares
from clearway.testbed.page import DATA, drawn
from clearway.testbed.results import Cell, Results, Table, load, part
from clearway.testbed.shares import CREDITED, LEAST_PERCENT, UNDER_PAC, UNDERNEATH, listed, low, percent, shares, span

DOCS = REPOSITORY / "docs"
#: The beginnings of the names of variants under a daemon that a row can have.
OF_DAEMONS = ("expresspass", "ec4", "pac")


def test_the_share_is_that_of_payload_that_left_for_a_credit() -> None:
    before = payload({"credited_bytes_total": 100.0, 'plain_bytes_total{reason="silent"}': 50.0})
    after = payload(
        {
            "credited_bytes_total": 1000.0,
            'plain_bytes_total{reason="silent"}': 250.0,
            'plain_bytes_total{reason="held_too_long"}': 100.0,
            'plain_packets_total{reason="silent"}': 9.0,
            'plain_flows_total{reason="silent"}': 2.0,
            'plain_flows_total{reason="unanswered"}': 1.0,
        }
    )
    found = after.since(before)
    assert (found.controlled, found.plain, found.given_up) == (900, {"silent": 200, "held_too_long": 100}, 3)
    assert found.percent == pytest.approx(75)
    both = found + Payload(0, {"silent": 300, "no_address": 0})
    assert both.percent == pytest.approx(60)
    assert both.plain == {"silent": 500, "held_too_long": 100, "no_address": 0}
    assert Payload().percent is None


def test_bytes_that_applications_received_and_no_daemon_saw_are_not_controlled() -> None:
    found = Payload(100, {"silent": 100})
    assert found.of(150) == found, "what TCP sends again was seen twice"
    assert found.of(400).percent == pytest.approx(25)
    assert found.of(400).plain == {"silent": 100, "unseen": 200}
    assert Payload().of(1000).percent == 0


def test_the_share_of_pac_is_that_of_flows_with_state() -> None:
    found = payload({"pac_data_bytes_total": 1000.0, "pac_untracked_bytes_total": 250.0})
    assert (found.percent, found.plain) == (75.0, {"untracked": 250})


SS = """\
0      0            10.0.0.1:5201      10.0.0.2:40312
\t ts sack ecn ecnseen cw_dctcp wscale:7,7 rto:204 rtt:0.5/0.2 cwnd:10 bytes_acked:5
0      0            10.0.0.1:5202      10.0.0.2:40314
\t bbr rto:204 rtt:0.5/0.2 cwnd:10 bbr:(bw:1.2Gbps,mrtt:0.02)
"""


def test_the_congestion_control_of_each_connection_is_read() -> None:
    assert congestion_controls(SS) == {"cw_dctcp", "bbr"}
    assert congestion_controls("") == set()


def table(*credited: float | None) -> Table:
    names = ("cubic", "expresspass", "ec4")
    rows = [[name, 50, share, "cubic", 1.5] for name, share in zip(names, credited, strict=True)]
    return Table("A caption.", ["transport", "connections", CREDITED, UNDERNEATH, "rate"], rows)


def test_a_table_below_the_least_share_says_so_first_in_its_heading_and_names_the_row() -> None:
    heading = table(None, 7.25, 94.96).heading
    assert heading == (
        '**Only 7.2 % of the bytes of the row "expresspass, connections: 50" were under credits: this is mostly plain '
        'TCP.** **Only 94.9 % of the bytes of the row "ec4, connections: 50" were under credits: this is partly plain '
        "TCP.** A caption. The congestion control of the kernel's TCP beneath the daemons was cubic."
    )
    assert part(
        Results("one", "One", machine={"kernel": "", "processors": ""}, tables={"t": table(None, 7.25, 1)}), []
    )[:12].startswith("**Only 7.2 %")


def test_a_table_whose_bytes_were_under_credits_says_nothing_but_the_congestion_control() -> None:
    heading = table(None, 100.0, LEAST_PERCENT).heading
    assert heading == "A caption. The congestion control of the kernel's TCP beneath the daemons was cubic."
    assert Table("A caption.", ["who"], [["a"]]).heading == "A caption."
    two = table(None, 100.0, 100.0)
    two.rows[0][3], two.rows[1][3] = "reno", "bbr"
    assert two.heading.endswith("beneath the daemons was bbr or cubic."), "no daemon ran in the first row"
    assert listed(["a", "b", "c"], "and") == "a, b and c"
    assert table(None, None, None).heading == "A caption."


def test_no_share_is_shown_better_than_it_is() -> None:
    assert [percent(share) for share in (0.0, 0.02, 94.99, 99.99, 100.0)] == [
        "0 %",
        "less than 0.1 %",
        "94.9 %",
        "99.9 %",
        "100 %",
    ]


def results(*credited: float | None) -> Results:
    host = {"kernel": "6.18", "processors": "2 x any"}
    found = Results("one", "One", "2026-11-20", 3.0, machine=host, load="Idle.", tables={"t": table(*credited)})
    found.judge_shares()
    return found


def test_the_check_of_an_experiment_is_not_met_where_a_row_is_below_the_least_share() -> None:
    low_one = results(None, 7.25, 100.0)
    (verdict,) = low_one.verdicts
    assert (verdict.met, verdict.measured) == (False, 'the least is 7.2 %, of "expresspass, connections: 50"')
    assert not low_one.met
    assert results(None, 95.0, 100.0).met
    assert results(None, None, None).verdicts == [], "nothing ran under a daemon"
    low_one.judge_shares()
    assert len(low_one.verdicts) == 1, "a second time replaces the verdict"


def test_shares_that_were_measured_later_stand_beside_the_figures_and_the_page_says_when() -> None:
    kept = results(None, None, None)
    kept.tables["t"] = Table("A caption.", ["transport", "connections", "rate"], [["cubic", 50, 9.0], ["ec4", 50, 8.0]])
    new = replace(results(None, None, None), day="2026-11-23", scale=0.3, load="2 processors were busy.")
    rows: list[list[Cell]] = [["cubic", 50, None, "bbr", 1.0], ["ec4", 50, 40.0, "bbr", 2.0]]
    new.tables = {"t": Table("Another one.", table(None, None, None).columns, rows)}
    both = with_shares(kept, new)
    assert both.tables["t"].columns == ["transport", "connections", CREDITED, UNDERNEATH, "rate"]
    assert both.tables["t"].rows == [["cubic", 50, None, "bbr", 9.0], ["ec4", 50, 40.0, "bbr", 8.0]]
    assert part(both, []).endswith(
        'Measured on 2026-11-20 in 3 s on Linux 6.18, 2 x any. Idle.\n\nThe columns "bytes under credits, %" and "TCP '
        'underneath" are of another run, which was measured with durations of 30% on 2026-11-23 in 3 s on Linux 6.18, '
        "2 x any. 2 processors were busy.\n"
    )
    again = with_shares(both, new)
    assert again.tables == both.tables, "a second time replaces the columns"
    with pytest.raises(Error, match="one: the table 't' that is kept has other rows than the new one"):
        with_shares(results(None, None, None), new)


def test_rates_of_applications_are_said_of_hosts_with_daemons_and_not_of_their_transport() -> None:
    found = results(None, None, None)
    rows: list[list[Cell]] = [
        ["redis", "GET", "cubic", None, None, "cubic", 60.0],
        ["redis", "GET", "expresspass", 7.0, 60, "cubic", 15.0],
    ]
    found.tables = {"applications": Table("", ["a", "b", "c", CREDITED, "d", UNDERNEATH, "rate"], rows)}
    assert notes(found) == ["redis, GET: hosts with daemons reach 25% of hosts without."]


def kept(name: str) -> Results:
    return load(DOCS / DATA / f"{name}.json")


@pytest.mark.parametrize("name", NAMES)
def test_every_table_of_the_page_shows_the_shares_of_the_rows_of_daemons(name: str) -> None:
    found = kept(name)
    assert found.tables
    for words, one in found.tables.items():
        assert UNDERNEATH in one.columns, f"{name}, {words}"
        assert {CREDITED, UNDER_PAC} & {*one.columns}, f"{name}, {words}"
        at = next(place for place, column in enumerate(one.columns) if column in (CREDITED, UNDER_PAC))
        named = any(isinstance(cell, str) and cell.startswith(OF_DAEMONS) for row in one.rows for cell in row)
        for row in one.rows:
            of_daemon = not named or any(isinstance(cell, str) and cell.startswith(OF_DAEMONS) for cell in row)
            assert (row[at] is not None) == of_daemon, f"{name}, {words}: {row}"


@pytest.mark.parametrize("name", NAMES)
def test_every_page_part_with_a_low_share_says_so_in_its_heading_and_its_verdicts(name: str) -> None:
    found = kept(name)
    everything = [share for one in found.tables.values() for share in shares(one.columns, one.rows)]
    judged = [verdict.met for verdict in found.verdicts if verdict.is_on_shares]
    met = all(share >= LEAST_PERCENT for _, _, share in everything)
    assert judged == ([met] if find(name).asks_control else [])
    for one in found.tables.values():
        assert one.heading.count("plain TCP.**") == len(low(one.columns, one.rows))


def test_pictures_say_the_shares_of_what_they_show() -> None:
    found = kept("convergence")
    words = span([share for one in found.tables.values() for share in shares(one.columns, one.rows)])
    assert words.startswith("bytes under credits, where a daemon ran: ")
    for _, figure in drawn(find("convergence"), found).values():
        assert figure.get_suptitle() == words


def test_figures_are_kept_only_beside_documents(cli: Cli, tmp_path: Path) -> None:
    done = cli("testbed", "run", "goodput", "--keep-figures", "--out", str(tmp_path))
    assert (done.returncode, json.dumps(done.stderr).count("--keep-figures: it needs --docs")) == (2, 1)
