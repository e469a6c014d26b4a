"""The scales of figures: what each runs, what it costs, which share of the paper's size it has."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from conftest import Cli

import clearway
from clearway import reproduce
from clearway.command import listing
from clearway.reproduce import Job, scale


def test_full_has_four_times_the_seeds_of_paper_and_else_the_same_runs() -> None:
    (figure,) = reproduce.find("hotnets/fig02")
    paper, full = (scale.jobs_at(figure, name) for name in ("paper", "full"))
    assert full[: len(paper)] == paper
    assert len(full) == 4 * len(paper)
    seeds = {job.params["seed"] for job in full}
    assert seeds == set(range(1, 21))
    assert all(job.scenario["seed"] == job.params["seed"] for job in full)
    labels = [job.label for job in full]
    assert len(set(labels)) == len(labels)


def test_runs_without_a_seed_are_run_once_at_every_scale() -> None:
    (figure,) = reproduce.find("expresspass/fig08")
    without = [job for job in scale.jobs_at(figure, "paper") if "seed" not in job.params]
    assert [job for job in scale.jobs_at(figure, "full") if "seed" not in job.params] == without


def test_the_cost_of_a_figure_is_the_sum_of_its_runs_and_the_memory_of_the_largest() -> None:
    (figure,) = reproduce.find("hotnets/fig02")
    jobs = figure.jobs("quick")
    one, all_ = scale.cost(jobs[:1]), scale.cost(jobs)
    assert one.runs == 1
    assert one.cpu_s > 0
    same = [job for job in jobs if {**job.params, "seed": 0} == {**jobs[0].params, "seed": 0}]
    assert scale.cost(same).cpu_s == pytest.approx(len(same) * one.cpu_s), "seeds cost the same"
    assert all_.memory_bytes == max(scale.cost([job]).memory_bytes for job in jobs)


def test_the_share_of_the_papers_size_is_that_of_the_bytes_of_the_largest_run() -> None:
    (figure,) = reproduce.find("expresspass/fig21")
    quick, paper = (max(map(sent, figure.jobs(name))) for name in ("quick", "paper"))
    assert scale.share(figure, figure.jobs("quick")) == pytest.approx(quick / paper)
    assert scale.share(figure, figure.jobs("quick")) == pytest.approx(600 / 100_000, rel=0.02), (
        "600 of 100,000 flows of web search"
    )
    assert scale.share(figure, figure.jobs("paper")) == 1


def sent(job: Job) -> int:
    return clearway.runner.load_scenario(job.scenario).estimate()["payload_bytes"]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1.0, "the paper's size"),
        (0.006, "1/170 of the paper's size"),
        (0.27, "1/3.7 of the paper's size"),
        (2.0, "2 times the paper's size"),
    ],
)
def test_a_share_of_the_papers_size_is_written_with_two_digits(share: float, text: str) -> None:
    assert scale.share_text(share) == text


def test_figures_are_listed_with_the_cost_of_both_scales(cli: Cli) -> None:
    out = cli("list", "figures", "--json").stdout
    assert '"quick"' in out
    assert '"cpu_s"' in out


def test_a_scale_that_does_not_exist_is_refused() -> None:
    (figure,) = reproduce.find("hotnets/fig02")
    with pytest.raises(clearway.Error, match="scale = 'huge': write quick, paper or full"):
        scale.jobs_at(figure, "huge")


def test_the_costs_that_are_listed_are_those_of_all_figures_and_of_their_simulations() -> None:
    known, costs = reproduce.figures(), listing.figure_costs()
    assert list(costs) == list(known)
    for name in ("pacc/fig01", "expresspass/fig02", "hotnets/fig02", "pac/text"):
        for size in ("quick", "paper"):
            of = reproduce.cost(reproduce.all_jobs(known[name], size))
            assert costs[name][size] == asdict(of), f"{name}: make docs estimates it anew"


def test_a_figure_without_a_cost_says_what_estimates_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "figure_costs", dict)
    _, rows = listing.overview("figures")
    assert {tuple(row[2:]) for row in rows} == {("make docs estimates it",) * 2}
