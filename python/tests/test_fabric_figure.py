"""The runs of `ours/fabric` are points of its sweep file, whatever the scale."""

from __future__ import annotations

from pathlib import Path

from clearway.reproduce.ours import fabric
from clearway.runner import load_scenario
from clearway.sweeps import file


def test_every_point_of_the_sweep_is_a_run_of_the_paper_scale() -> None:
    spec = file.read(Path(fabric.__file__).with_suffix(".toml"))
    runs = fabric.jobs("paper")
    assert len(runs) == len(list(spec.choices())) == len({job.label for job in runs})
    assert {job.params["system"] for job in runs} == set(fabric.SYSTEMS)
    assert {job.params["load"] for job in runs} >= {*fabric.BURSTS}
    assert {(job.params["hosts"], job.params["Gbps"]) for job in runs} == {
        (hosts, gbps) for hosts in (128, 1024) for gbps in fabric.RATES
    }


def test_settings_of_the_sweep_go_to_the_tables_that_their_keys_name() -> None:
    scenario: dict[str, object] = {"traffic": [{"name": "flows", "kind": "permutation"}]}
    for setting, value in (
        ("transport", "ec4"),
        ("transport.tell_end", True),
        ("traffic.flows.size", "1 B"),
        ("seed", 3),
    ):
        fabric.put(scenario, setting, value)
    assert scenario == {
        "traffic": [{"name": "flows", "kind": "permutation", "size": "1 B"}],
        "transport": {"name": "ec4", "tell_end": True},
        "seed": 3,
    }


def test_the_page_has_all_points_of_the_sweep_but_two_seeds_of_web_search_and_hadoop_on_the_large_tree() -> None:
    (size,) = fabric.FIGURE.sizes
    assert size == 1
    page = {job.label: job.scenario for job in fabric.at(size)}
    left_out = [job for job in fabric.jobs("paper") if job.label not in page]
    assert {(job.params["hosts"], job.params["seed"]) for job in left_out} == {(1024, 4), (1024, 5)}
    assert len(left_out) == 2 * len(fabric.RATES) * len(fabric.WORKLOADS) * len(fabric.LOADS) * len(fabric.SYSTEMS)
    assert all(page[job.label] == job.scenario for job in fabric.jobs("paper") if job.label in page)


def test_the_scenarios_of_every_system_can_be_run() -> None:
    for job in fabric.jobs("quick"):
        if job.params["seed"] == 1:
            load_scenario(job.scenario)
