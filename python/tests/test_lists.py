"""Lists of flows in files as tools of Python write them: Parquet, CSV of Polars, gzip."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli

import clearway
from clearway import parquet_lists

FLOWS = pl.DataFrame(
    {
        "src": ["h0", "h1", "h2"],
        "dst": ["h3", "h3", "h0"],
        "start_s": [0.0, 1e-5, 2.5e-6],
        "size_bytes": [1000, 2000, 3000],
    }
)


def scenario(path: Path, **keys: Any) -> dict[str, Any]:
    return {
        "topology": {"kind": "star", "hosts": 4},
        "transport": {"name": "expresspass"},
        "traffic": [{"kind": "file", "path": str(path), **keys}],
    }


@pytest.mark.parametrize("name", ["flows.parquet", "flows.csv", "flows.csv.gz", "no-suffix"])
def test_a_list_from_polars_gives_the_same_run_in_every_format(name: str, tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text(FLOWS.write_csv())
    plain = clearway.run(scenario(tmp_path / "plain.csv"))
    path = tmp_path / name
    if name == "flows.csv.gz":
        path.write_bytes(gzip.compress(FLOWS.write_csv().encode()))
    elif name == "flows.csv":
        FLOWS.write_csv(path, separator=";", include_bom=True, line_terminator="\r\n")
    else:
        FLOWS.select("size_bytes", "dst", "src", "start_s").write_parquet(path)
    again = clearway.run(scenario(path))
    assert again.hash == plain.hash
    assert again.flows["start_s"].to_list() == [0.0, 2.5e-6, 1e-5]
    assert clearway.run(again.scenario).hash == plain.hash, "the resolved scenario reads the file again"


def test_a_parquet_list_may_have_texts_with_units(tmp_path: Path) -> None:
    pl.DataFrame({"start": ["1 us"], "src": ["h0"], "dst": ["h1"], "size": ["1 KB"]}).write_parquet(tmp_path / "a")
    assert clearway.run(scenario(tmp_path / "a")).flows["size_bytes"].to_list() == [1000]


@pytest.mark.parametrize("after", [[None, "a"], [None, ["a"]]], ids=["texts", "lists"])
def test_flows_of_a_parquet_list_wait_for_others(after: list[Any], tmp_path: Path) -> None:
    begins = {"start_us": [3.0, None], "name": ["a", None], "after": after, "pause": [None, "2 us"]}
    ends = {"src": ["h0", "h1"], "dst": ["h1", "h2"], "size_bytes": [1000, 2000]}
    pl.DataFrame(begins | ends).write_parquet(tmp_path / "waiting.parquet")
    flows = clearway.run(scenario(tmp_path / "waiting.parquet")).flows
    starts, times = flows["start_s"], flows["fct_s"]
    assert starts[0] == pytest.approx(3e-6)
    assert starts[1] == pytest.approx(starts[0] + times[0] + 2e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (FLOWS.with_columns(dst=pl.Series(["h3", "h9", "h0"])), ':2: dst: there is no host "h9" (hosts: h0..h3)'),
        (FLOWS.with_columns(start_s=pl.Series([0.0, -1.0, 0.0])), ':2: start_s: "-1.0" is negative'),
        (FLOWS.with_columns(src=pl.Series(["h1", None, "h1"])), ":2: src is empty; name a host"),
        (FLOWS.with_columns(colour=1), "'colour' is no column of a list of flows"),
        (FLOWS.with_columns(src=pl.lit([1, 2])), "the column 'src' holds List(Int64)"),
        (FLOWS.drop("src"), "a column is missing, src"),
        (FLOWS.head(0), "lists no flows"),
    ],
)
def test_a_wrong_parquet_list_is_refused_with_its_row(change: pl.DataFrame, words: str, tmp_path: Path) -> None:
    path = tmp_path / "flows.parquet"
    change.write_parquet(path)
    with pytest.raises(clearway.ScenarioError) as caught:
        clearway.run(scenario(path))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_list_longer_than_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    FLOWS.write_parquet(tmp_path / "flows.parquet")
    with pytest.raises(ValueError, match="has 3 rows; list at most 2 flows"):
        parquet_lists.csv_of(tmp_path / "flows.parquet", 2)
    pl.DataFrame({"src": [0], "dst": [1], "start_s": [0], "size_bytes": [1]}).select(
        pl.all().repeat_by(2_000_001).explode()
    ).write_parquet(tmp_path / "long.parquet")
    with pytest.raises(clearway.ScenarioError, match="has 2,000,001 rows; list at most 2,000,000 flows"):
        clearway.run(scenario(tmp_path / "long.parquet"))


def test_a_forced_format_must_be_that_of_the_file(tmp_path: Path) -> None:
    FLOWS.write_parquet(tmp_path / "flows.parquet")
    (tmp_path / "flows.csv").write_text(FLOWS.write_csv())
    clearway.run(scenario(tmp_path / "flows.parquet", format="parquet"))
    for name, form, words in [("flows.parquet", "csv", "is Parquet"), ("flows.csv", "parquet", "is no Parquet")]:
        with pytest.raises(clearway.ScenarioError, match=f"format = .*the file {words}; correct or remove this key"):
            clearway.run(scenario(tmp_path / name, format=form))


def test_a_damaged_parquet_list_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "flows.parquet"
    FLOWS.write_parquet(path)
    whole, draw = path.read_bytes(), random.Random(1)
    for cut in range(10):
        damaged = bytearray(whole[: len(whole) - cut] if cut % 2 else whole)
        for _ in range(draw.randrange(1, 4)):
            damaged[draw.randrange(4, len(damaged))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        refusal = ""
        try:
            clearway.run(scenario(path))
        except clearway.Error as error:
            refusal = str(error)
        assert "\n" not in refusal
        assert "internal error" not in refusal


def test_the_command_reads_a_parquet_list(cli: Cli, tmp_path: Path) -> None:
    FLOWS.write_parquet(tmp_path / "flows.parquet")
    (tmp_path / "s.toml").write_text(
        '[topology]\nkind = "star"\nhosts = 4\n[transport]\nname = "dctcp"\n'
        '[[traffic]]\nkind = "file"\npath = "flows.parquet"\n'
    )
    done = cli("run", "s.toml", "--out", "ran")
    assert done.returncode == 0, done.stderr
    assert len(clearway.load(tmp_path / "ran").flows) == 3
