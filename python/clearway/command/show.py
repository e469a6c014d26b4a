"""The command `clearway show`: a picture and a summary of a network."""

from __future__ import annotations

from pathlib import Path

import click

from clearway.command.names import NetworkWord

EXAMPLES = """\b
Examples:
  clearway show leaf-spine
  clearway show fat-tree k=8 rate=25Gbps --path h0 h127 --out tree.svg
  clearway show incast
  clearway show ring --path h0 h2
"""


@click.command(epilog=EXAMPLES)
@click.argument("topology", nargs=-1, required=True, metavar="TOPOLOGY|SCENARIO [KEY=VALUE]...", type=NetworkWord())
@click.option("--path", "pair", nargs=2, metavar="SRC DST", help="Draw the shortest paths between two hosts.")
@click.option("--out", type=click.Path(path_type=Path), help="File for the picture.  [default: NAME.svg]")
@click.option("--force", is_flag=True, help="Replace a file that this command did not draw.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def show(topology: tuple[str, ...], pair: tuple[str, str] | None, out: Path | None, force: bool, as_json: bool) -> None:
    """Draw the network TOPOLOGY as SVG, and say how large and how fast it is.

    TOPOLOGY is a shape with its keys, a file of a network (TOML, GraphML, HPCC's, htsim's), or a scenario: its file, or
    the name of an example, unless that is the name of a shape too. Hosts are at the bottom, and a row above them is a
    tier of switches; lines are the wider the faster the link. In large networks, neighbouring pods, switches and hosts
    stand together. With --path, the shortest paths between two hosts are drawn with the share of the traffic that each
    link carries if every switch divides it equally.
    """
    from clearway import _clearway, reading
    from clearway.command.shared import print_json
    from clearway.page_file import write_text
    from clearway.plan.networks import network
    from clearway.show import graph as graphs
    from clearway.show import summary, svg

    scenario = network(topology)
    graph = graphs.read(scenario, " ".join(Path(word).name for word in topology))
    paths = graph.paths(*ends(scenario, graph, pair)) if pair else None
    out = out or Path(f"{Path(topology[0]).stem}.svg")
    if out.is_file() and not force and svg.MARK not in reading.start(out, 1000):
        raise _clearway.Error(f"{out}: there is a file that this command did not draw; name another, or use --force")
    write_text(svg.draw(graph, paths), out, "the picture")
    if as_json:
        print_json(
            {"out": str(out), **summary.facts(graph), "path": summary.path_facts(graph, paths) if paths else None}
        )
        return
    for line in [*summary.text(graph), *(summary.path_text(graph, paths) if paths else []), f"Picture: {out}"]:
        click.echo(line)


def ends(scenario: object, graph: object, pair: tuple[str, str]) -> tuple[int, int]:
    """The numbers of two hosts by their names or numbers."""
    from clearway import _clearway
    from clearway.show.graph import Graph

    assert isinstance(scenario, _clearway.Scenario)
    assert isinstance(graph, Graph)
    found = []
    for name in pair:
        if name.isdecimal() and name not in graph.names and int(name) < graph.hosts:
            found.append(int(name))
            continue
        try:
            node = _clearway.node(scenario, name)
        except ValueError as error:
            raise _clearway.Error(f"--path: {error}") from None
        if node >= graph.hosts:
            raise _clearway.Error(f"--path: {name} is a switch; name a host ({graph.host_names})")
        found.append(node)
    if found[0] == found[1]:
        raise _clearway.Error(f"--path: {pair[0]} and {pair[1]} are the same host; name two")
    return found[0], found[1]
