"""The judge can fail: protocols that are too slow, or do not react at all, turn the claims on convergence red."""

from __future__ import annotations

from pathlib import Path

import pytest
from breaking import Breaking, having, only, switch, transport

from clearway.reproduce import Finding, Job, claim, judge
from clearway.reproduce.convergence import quotient
from clearway.reproduce.expresspass import fig02, fig16
from clearway.reproduce.figure import Tables
from clearway.reproduce.hotnets import fig07

#: Rates that stay at a fifth of the link, and updates that are ten times as rare as a round trip.
BROKEN = pytest.mark.parametrize(
    "broken", [{"update_period": "10 s", "alpha": 0.2}, {"update_period": "1 ms"}], ids=["frozen", "rare updates"]
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of results for all tests, so that no simulation runs twice."""
    return tmp_path_factory.mktemp("store")


@BROKEN
def test_expresspass_that_does_not_converge_is_not_faster_than_dctcp(store: Path, broken: dict[str, str]) -> None:
    def kept(job: Job) -> bool:
        default = (job.params["alpha"], job.params["w_init"]) == fig16.DEFAULT
        return job.params["rate_gbps"] == 10 and (default or job.params["transport"] == "dctcp")

    def check(tables: Tables) -> list[Finding]:
        ratio = {"value": fig16.ratio(tables, 10)}
        return [judge.judge(claim("expresspass", "fig16-convergence-10g-dctcp-ratio"), ratio)]

    figure = Breaking(store, "expresspass/fig16", kept, check)
    figure.turns_red(
        only("expresspass", lambda job: transport(job, **broken)),
        "fig16-convergence-10g-dctcp-ratio",
    )


@BROKEN
def test_even_by_a_first_crossing_flows_without_timely_feedback_do_not_meet(
    store: Path, broken: dict[str, str]
) -> None:
    def check(tables: Tables) -> list[Finding]:
        first = fig07.rtts(tables, 10, fig07.DEFAULT, fig07.FIRST)
        return [judge.judge(claim("hotnets", "fig07-convergence-10g"), first)]

    figure = Breaking(store, "hotnets/fig07", having(rate_gbps=10, transport=fig07.DEFAULT), check)
    figure.turns_red(lambda job: transport(job, **broken), "fig07-convergence-10g")


@pytest.mark.slow
def test_feedback_in_place_of_naive_credits_is_no_longer_far_faster_than_dctcp(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean over the next 200 round trips called it converged after none."""
    monkeypatch.setattr(fig02, "JOININGS", 200)

    def kept(job: Job) -> bool:
        return job.params["transport"] in ("naive-credit", "dctcp") and job.params["seed"] == 1

    def check(tables: Tables) -> list[Finding]:
        times = (fig02.taken(tables, name) for name in ("dctcp", "naive-credit"))
        longer = {"dctcp over naive credits": quotient(*times)}
        return [judge.judge(claim("expresspass", "fig02-convergence-ordering"), longer)]

    def feedback(job: Job) -> dict[str, object]:
        return {"transport": {"name": "expresspass"}} if job.params["what"] == "many" else {}

    Breaking(store, "expresspass/fig02", kept, check).turns_red(feedback, "fig02-convergence-ordering")


@pytest.mark.parametrize("broken", ["a tiny g", "no marks"])
def test_dctcp_without_its_control_does_not_take_hundreds_of_round_trips(store: Path, broken: str) -> None:
    """With a tiny g it halves its window at each mark, so that flows meet at once; without marks they never do."""

    def kept(job: Job) -> bool:
        return bool(job.params["rate_gbps"] == 10 and job.params["transport"] == "dctcp")

    def check(tables: Tables) -> list[Finding]:
        here = claim("expresspass", "sec1-convergence-order-of-magnitude")
        return [judge.judge(here, {"DCTCP, 10 Gbps": fig16.taken(tables, 10, "dctcp")}, part=True)]

    def change(job: Job) -> dict[str, object]:
        return transport(job, g=1e-6) if broken == "a tiny g" else switch(job, marking="100000 packets")

    figure = Breaking(store, "expresspass/fig16", kept, check)
    figure.turns_red(change, "sec1-convergence-order-of-magnitude")
