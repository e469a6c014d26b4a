"""The command `clearway schema`: the JSON Schema of scenario files."""

from __future__ import annotations

from pathlib import Path

import click

from clearway.command.shared import notes

EXAMPLES = """\b
Examples:
  clearway schema > scenario.schema.json
  clearway schema --out scenario.schema.json
\b
In VS Code with the extension Even Better TOML, and in every editor that uses Taplo, a scenario file that begins with
  #:schema ./scenario.schema.json
has its keys completed, explained and checked while you write.
"""


@click.command(epilog=EXAMPLES)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file, not to the terminal.")
def schema(out: Path | None) -> None:
    """Print the JSON Schema of scenario files, for editors.

    It has every key with its documentation, default, range and units, by draft 2020-12. What it refuses, Clearway
    refuses; `clearway check` finds what a schema can't, such as a host that does not exist.
    """
    from clearway.scenario.json_schema import schema_text

    if out is None:
        click.echo(schema_text(), nl=False)
        return
    try:
        out.write_text(schema_text(), "utf-8")
    except OSError as error:
        raise click.UsageError(f"--out {out}: can't be written: {error.strerror}") from None
    notes().print(f"Schema: {out}", markup=False)
