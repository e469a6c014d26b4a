"""`clearway show`: the picture is legible, the paths and their shares are right, and files of others are shown too."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from conftest import REPOSITORY, Cli

from clearway import _clearway
from clearway.plan.networks import network
from clearway.show import graph as graphs
from clearway.show import svg
from clearway.show.folding import fold
from clearway.show.graph import Graph
from clearway.show.layout import HEIGHT, lay_out

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = [shape["name"] for shape in _clearway.topologies() if shape["names"]]
#: Pictures of the documentation, with what draws them.
PICTURES = {"network-leaf-spine": (["leaf-spine"], ("h0", "h31")), "network-fat-tree": (["fat-tree", "k=16"], None)}

TOPO = """Nodes 8
Tiers 2
Podsize 8
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 1000
"""


def graph_of(*words: str) -> Graph:
    return graphs.read(network(words), " ".join(words))


@pytest.mark.parametrize("words", [*SHAPES, "fat-tree k=16", "leaf-spine leaves=40", "parking-lot bottlenecks=50"])
def test_boxes_of_every_shape_stand_apart_and_few_enough_to_read(words: str) -> None:
    graph = graph_of(*words.split())
    folded = fold(graph, set())
    layout = lay_out(folded, graph.names)
    assert sorted(node for box in layout.boxes for node in box.item.nodes) == list(range(len(graph.names)))
    assert len(layout.boxes) <= 64
    for number, box in enumerate(layout.boxes):
        assert 0 <= box.x - box.width / 2 <= box.x + box.width / 2 <= layout.width
        assert 0 <= box.y - HEIGHT / 2 <= box.y + HEIGHT / 2 <= layout.height
        for other in layout.boxes[number + 1 :]:
            assert box.y != other.y or abs(box.x - other.x) >= (box.width + other.width) / 2, (box, other)
    picture = ET.fromstring(svg.draw(graph))
    assert len(picture.findall(f"{SVG}rect")) > len(layout.boxes)


def test_a_small_network_is_drawn_node_by_node() -> None:
    texts = [text.text for text in ET.fromstring(svg.draw(graph_of("fat-tree"))).iter(f"{SVG}text")]
    assert {f"h{number}" for number in range(16)} <= set(texts)
    assert "16 x 10 Gbps, 4 us" in texts


def test_paths_carry_equal_shares_and_their_ends_are_never_folded() -> None:
    graph = graph_of("fat-tree", "k=16")
    paths = graph.paths(0, 1023)
    assert (paths.hops, paths.count) == (6, 64)
    out = sum(share for a, _, share in paths.shares if graph.tiers[a] == 3)
    assert out == pytest.approx(1.0)
    texts = [text.text for text in ET.fromstring(svg.draw(graph, paths)).iter(f"{SVG}text")]
    assert {"h0", "h1023", "tor0", "tor127", "12.5 %"} <= set(texts)


def test_names_with_markup_are_text(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(
        'rate = "1 Gbps"\ndelay = "1 us"\n[[host]]\nname = "<a&b>"\n[[host]]\nname = "c"\n'
        '[[link]]\na = "<a&b>"\nb = "c"\n'
    )
    picture = svg.draw(graphs.read(network([str(path)]), "<odd>"))
    assert "<a&b>" in [text.text for text in ET.fromstring(picture).iter(f"{SVG}text")]


def test_the_command_writes_a_picture_and_says_what_there_is(cli: Cli, tmp_path: Path) -> None:
    done = cli("show", "leaf-spine", "--path", "h0", 31)
    assert done.returncode == 0, done.stderr
    assert "leaf-spine: 32 hosts, 6 switches, 40 links" in done.stdout
    assert "switches  tor0..tor3 (or leaf0..leaf3), spine0, spine1" in done.stdout
    assert "links     8 x 40 Gbps, 4 us (tier 1 - tier 2)" in done.stdout
    assert "h0 to h31: 2 shortest paths of 4 links" in done.stdout
    assert "      50 %  spine1->tor3" in done.stdout
    first = (tmp_path / "leaf-spine.svg").read_text()
    assert svg.MARK in first
    assert cli("show", "leaf-spine").returncode == 0, "its own picture is drawn anew"
    (tmp_path / "mine.svg").write_text("<svg/>")
    done = cli("show", "leaf-spine", "--out", "mine.svg")
    assert (done.returncode, "did not draw" in done.stderr) == (2, True)
    assert (tmp_path / "mine.svg").read_text() == "<svg/>"


def test_the_summary_comes_as_json(cli: Cli) -> None:
    done = cli("show", "fat-tree", "k=8", "--path", "h0", "h127", "--json")
    found = json.loads(done.stdout)
    assert (found["hosts"], found["switches"], found["diameter"], found["oversubscription"]) == (128, 80, 6, 1.0)
    assert (found["path"]["paths"], found["path"]["hops"]) == (16, 6)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("h0", "h99"), '--path: there is no node "h99"'),
        (("h0", "leaf1"), "--path: leaf1 is a switch; name a host (h0..h31)"),
        (("h0", "0"), "--path: h0 and 0 are the same host; name two"),
        (("h0", "leave1"), 'did you mean "leaf1"?'),
    ],
)
def test_hosts_that_are_not_there_are_refused(cli: Cli, pair: tuple[str, str], words: str) -> None:
    done = cli("show", "leaf-spine", "--path", *pair)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_files_of_networks_are_known_by_name_or_content(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "small.topo").write_text(TOPO)
    (tmp_path / "small.txt").write_text(TOPO)
    (tmp_path / "hpcc.txt").write_text("3 1 2\n0\n0 1 10Gbps 1us 0\n0 2 10Gbps 1us 0\n")
    for name, words in [
        ("small.topo", "8 hosts, 6 switches, 16 links"),
        ("small.txt", "8 hosts, 6 switches, 16 links"),
        ("hpcc.txt", "2 hosts, 1 switch, 2 links"),
    ]:
        done = cli("show", name)
        assert done.returncode == 0, done.stderr
        assert words in done.stdout


def test_a_scenario_is_shown_with_its_links_changed(cli: Cli) -> None:
    done = cli("show", REPOSITORY / "scenarios" / "incast.toml")
    assert done.returncode == 0, done.stderr
    assert "incast.toml: " in done.stdout


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_the_documentation_are_current(name: str) -> None:
    words, pair = PICTURES[name]
    graph = graph_of(*words)
    numbers = [graph.names.index(host) for host in pair or ()]
    drawn = svg.draw(graph, graph.paths(*numbers) if pair else None)
    path = " ".join(["--path", *pair]) if pair else ""
    command = f"clearway show {' '.join(words)} {path} --out docs/img/{name}.svg".replace("  ", " ")
    assert (REPOSITORY / "docs" / "img" / f"{name}.svg").read_text("utf-8") == drawn, f"draw it anew: {command}"
