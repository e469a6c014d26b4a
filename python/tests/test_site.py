"""The site: every page has its place, says where to read on, and those of protocols have one shape."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import yaml
from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tools" / "website"))
sys.path.insert(0, str(REPOSITORY / "tools"))
import front
import moved
import split
import stage

PROTOCOLS = sorted(set((REPOSITORY / "docs" / "protocols").glob("*.md")) - {REPOSITORY / "docs/protocols/README.md"})
SHAPE = ["What it is", "How it works", "Parameters", "Deviations", "Readings"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages as Sphinx takes them, by their paths on the site."""
    out = tmp_path_factory.mktemp("pages")
    stage.stage(REPOSITORY, out)
    return {str(path.relative_to(out)): path.read_text("utf-8") for path in out.rglob("*.md")}


def test_every_page_says_where_to_read_on(pages: dict[str, str]) -> None:
    silent = [
        name for name, text in pages.items() if not re.search(r"^(\*\*Next:\*\*|#+ .*\bnext\b)", text, flags=re.M)
    ]
    assert silent == []


def test_every_protocol_has_a_page_of_the_same_shape() -> None:
    assert len(PROTOCOLS) == 25
    for path in PROTOCOLS:
        assert re.findall(r"^## (.*)$", path.read_text("utf-8"), flags=re.MULTILINE) == SHAPE, path.name


def test_a_page_for_each_table_has_the_anchors_of_the_whole_page(pages: dict[str, str]) -> None:
    places = split.anchors((REPOSITORY / stage.SPLIT).read_text("utf-8"))
    assert places["topology"] == ("reference/scenario/topology.md", "topology")
    assert places["kind--file-1"] == ("reference/scenario/traffic.md", "kind--file")
    for anchor, (page, there) in places.items():
        headings = re.findall(r"^#+ (.*)$", pages[page], flags=re.MULTILINE)
        slugs = [split.slug(heading) for heading in headings]
        assert there in slugs or re.sub(r"-\d+$", "", there) in slugs, anchor


def test_the_front_page_has_a_moving_scene_with_a_still_one_beside_it(pages: dict[str, str]) -> None:
    front_page = pages["index.md"]
    assert "](img/opening.webp){.moving}" in front_page
    assert "](img/opening.png){.still}" in front_page
    assert "make site" not in front_page
    style = (REPOSITORY / "tools" / "website" / "static" / "site.css").read_text("utf-8")
    assert re.search(
        r"prefers-reduced-motion: reduce\) \{\s*img\.still \{ display: inline; \}\s*img\.moving \{ display: none", style
    )


def test_the_front_page_opens_the_live_page_where_the_site_has_it(tmp_path: Path, pages: dict[str, str]) -> None:
    assert "live.html" not in pages["index.md"]
    stage.stage(REPOSITORY, tmp_path, has_live_page=True)
    assert '<a href="live.html">' in (tmp_path / "index.md").read_text("utf-8")


def test_the_numbers_of_the_front_page_are_those_of_the_evidence(pages: dict[str, str]) -> None:
    docs = REPOSITORY / "docs"
    million, day = front.speed(docs)
    speed = (docs / "results" / "speed.md").read_text("utf-8")
    assert re.search(rf"^\| `{front.CASE}` \| [\d.,]+ \| {million:.2f} \|", speed, flags=re.MULTILINE)
    agree, rows = front.parity(docs)
    assert agree < rows, "the front page says of how many rows, also where some differ"
    share, tested = front.claims(docs)
    board = (docs / "results" / "README.md").read_text("utf-8")
    assert f"| all | 238 | {tested} | {share:.0f} % |" in board
    for said in (f"{million:.1f} million", day, f"{agree} of {rows} rows", f"{share:.0f} % of {tested} claims"):
        assert said in pages["index.md"], said


def test_links_of_the_repository_become_those_of_the_site(pages: dict[str, str]) -> None:
    assert "(scenario/index.md)" in pages["reference/index.md"]
    assert "(../project/changes.md)" in pages["project/index.md"] or "(changes.md)" in pages["project/index.md"]
    for name, text in pages.items():
        for link in re.findall(r"\]\(([^)#\s]+\.md)[^)]*\)", stage.FENCE.sub("", text)):
            found = (Path(name).parent / link).as_posix()
            assert os.path.normpath(found) in pages, f"{name} links to {link}"


def test_an_old_address_leads_to_a_page_that_there_is(pages: dict[str, str], tmp_path: Path) -> None:
    there = [name.replace(".md", ".html") for name in pages]
    leads = moved.moved(there)
    assert leads["scenario/topology.html"] == "reference/scenario/topology.html"
    assert set(leads.values()) - set(there) == set()
    assert set(leads) & set(there) == set()
    for name in there:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", "utf-8")
    moved.write(tmp_path)
    assert 'location.replace("sweeps.html" + location.hash)' in (tmp_path / "how-to/cluster.html").read_text("utf-8")
    assert 'href="../reference/scenario/topology.html"' in (tmp_path / "scenario/topology.html").read_text("utf-8")


def test_the_citation_has_what_citation_files_need() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["authors"][0]["name"]
    cargo = (REPOSITORY / "Cargo.toml").read_text("utf-8")
    assert f'version = "{citation["version"]}"' in cargo
    assert f'license = "{citation["license"]}"' in cargo
