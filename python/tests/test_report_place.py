"""Where pages of results go: each source has its own, and no page takes the place of another's in silence."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import SMALL, Cli

import clearway
from clearway.report.source import default_page, source_of


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with the results of two transports, in `out` and elsewhere."""
    for name in ("out/first", "out/both/dctcp", "out/both/cubic", "other/first"):
        clearway.run(SMALL, transport="dctcp" if "dctcp" in name else "cubic", out=tmp_path / name)
    return tmp_path


def pages(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html") if "live" not in path.name)


def test_each_source_has_a_page_of_its_own(cli: Cli, runs: Path) -> None:
    for words in (["out/first"], ["out/both/dctcp"], ["out/first", "out/both"]):
        done = cli("report", *words)
        assert done.returncode == 0, done.stderr
        assert (runs / done.stderr.removeprefix("Report: ").strip()).is_file()
    assert pages(runs) == sorted(f"out/report/{name}/index.html" for name in ("both-dctcp", "first", "first+both"))


@pytest.mark.slow
def test_the_page_of_the_same_results_is_written_anew(cli: Cli, runs: Path) -> None:
    page = runs / "out" / "report" / "first" / "index.html"
    for words in (["out/first"], [runs / "out" / "first"], ["out/../out/first", "--title", "Another title"]):
        done = cli("report", *words)
        assert done.returncode == 0, done.stderr
    assert "<title>Another title</title>" in page.read_text("utf-8")
    assert cli("report", "out/first", "out/both", "--out", "a.html").returncode == 0
    assert cli("report", "out/both", "out/first", "--out", "a.html").returncode == 0


@pytest.mark.parametrize("what", ["a page of other results", "a file of the user"])
def test_a_file_of_another_source_is_replaced_by_force_alone(cli: Cli, runs: Path, what: str) -> None:
    if what == "a file of the user":
        (runs / "page.html").write_text("<title>My thesis</title>")
    else:
        assert cli("report", "out/both", "--out", "page.html").returncode == 0
    before = (runs / "page.html").read_text("utf-8")
    done = cli("report", "out/first", "--out", "page.html")
    said = "is the report of other results" if "results" in what else "is no report, or one of unknown results"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"clearway: page.html: {said}; name another with --out, or use --force\n"
    assert (runs / "page.html").read_text("utf-8") == before
    assert cli("report", "out/first", "--out", "page.html", "--force").returncode == 0
    assert cli("report", "out/first", "--out", "page.html").returncode == 0
    assert (runs / "page.html").read_text("utf-8") != before


@pytest.mark.slow
@pytest.mark.usefixtures("runs")
def test_two_sources_of_one_name_do_not_share_a_page(cli: Cli) -> None:
    assert cli("report", "out/first").returncode == 0
    done = cli("report", "other/first")
    assert done.returncode == 2
    assert "out/report/first/index.html: is the report of other results" in done.stderr


@pytest.mark.slow
def test_the_demonstration_keeps_its_page_and_takes_no_other(cli: Cli, runs: Path) -> None:
    page = runs / "out" / "report" / "index.html"
    assert cli("report", "out/first", "--out", page).returncode == 0
    done = cli("demo", "--quick")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "index.html: is the report of other results; name another with --out, or use --force" in done.stderr
    assert not (runs / "out" / "demo-quick").exists()
    page.unlink()
    assert cli("demo", "--quick").returncode == 0
    before = page.read_bytes()
    assert cli("report", "out/first").returncode == 0
    assert page.read_bytes() == before


def test_a_source_is_where_its_results_are_in_any_order(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)
    first, both = Path("out/first"), Path("out/both")
    assert source_of([first, both]) == source_of([both.absolute(), first, first])
    assert source_of([first]) != source_of([both])
    assert default_page([Path("out")]) == Path("out/report/out/index.html")
    assert default_page([runs / "other" / "first"]) == Path("out/report/first/index.html")
    shutil.move("other/first", "elsewhere")
    assert source_of([Path("elsewhere")]) != source_of([Path("other/first")])
