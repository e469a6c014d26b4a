"""The command `clearway export`: a run in the formats of other simulators."""

from __future__ import annotations

from pathlib import Path

import click

from clearway.command.names import RunFolder

#: The formats, each with what it is. They are those of `clearway.export`, which is imported when the command runs.
WORDS = {
    "hpcc-fct": "fct.txt of HPCC's ns-3: sip dip sport dport size start fct standalone-fct, in ns",
    "hpcc-flows": "flow file of HPCC's ns-3",
    "hpcc-topology": "topology file of HPCC's ns-3",
    "htsim-flows": "connection matrix (.cm) of htsim",
    "ns2-flows": "flow list of the ExpressPass authors' ns-2 script",
    "csv-flows": "flow list as CSV",
    "graphml": "network in GraphML",
}

EPILOG = (
    "\b\nFormats:\n" + "".join(f"  {name:<14} {text}\n" for name, text in WORDS.items()) + "\n\b\nExamples:\n"
    "  clearway export out/rdma-incast --as hpcc-fct --out fct.txt\n"
    "  clearway export out/websearch --as htsim-flows --start-unit us --out web.cm\n"
    "  clearway export out/websearch --as csv-flows | head\n"
)


@click.command(epilog=EPILOG)
@click.argument("run", type=RunFolder())
@click.option("--as", "form", type=click.Choice(list(WORDS)), required=True, help="The format to write.")
@click.option("--start-unit", type=click.Choice(["ps", "us"]), help="Unit of starts in htsim-flows.  [default: ps]")
@click.option("--out", type=click.Path(path_type=Path), help="File to write.  [default: the standard output]")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def export(run: Path, form: str, start_unit: str | None, out: Path | None, force: bool) -> None:
    """Write the run in the folder RUN in a format of another simulator.

    Flows of the run become a list that HPCC's ns-3, htsim or ns-2 reads, with the sizes and start times that they
    had, so that others run what was run here. `hpcc-fct` is the result file of HPCC's ns-3, which its analysis reads;
    completion times are until the sender has the last acknowledgement, as there, and flows that did not end are left
    out.
    """
    from clearway._clearway import Error
    from clearway.export import export as written
    from clearway.page_file import write_text
    from clearway.result import load

    if out is not None and out.exists() and not force:
        raise Error(f"{out}: there is a file of this name; name another, or use --force")
    done = written(load(run), form, start_unit=start_unit)
    if out is None:
        click.echo(done.text, nl=False)
        return
    write_text(done.text, out, "the list")
    flows = f" with {done.flows:,} flows" if form.endswith(("-flows", "-fct")) else ""
    left = f" ({done.left_out:,} without a size or an end are left out)" if done.left_out else ""
    click.echo(f"Wrote {out}{flows}{left}")
