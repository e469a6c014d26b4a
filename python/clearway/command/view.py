"""The command `clearway view`: runs seen live in the browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clearway import _clearway, reading
from clearway.command.names import SCENARIO_OR_RUN, TRANSPORTS
from clearway.command.shared import notes, settings_dict, settings_options

if TYPE_CHECKING:
    from clearway.view.start import Scene

#: The number of hosts above which the native engine simulates, in place of the one in the page.
NATIVE_ABOVE = 1000

EXAMPLES = """\b
Examples:
  clearway view                                 choose from the gallery
  clearway view incast --transports expresspass,dctcp
  clearway view out/incast                      simulate results again, and compare the hash
  clearway view incast --html incast.html
  clearway view websearch --native --port 8000 --no-browser
"""


@click.command(epilog=EXAMPLES)
@click.argument("sources", nargs=-1, metavar="[SCENARIO|RUN]...", type=SCENARIO_OR_RUN)
@click.option("--transports", type=TRANSPORTS, help="One transport, or two with a comma: they stand side by side.")
@settings_options
@click.option(
    "--html", type=click.Path(path_type=Path), help="Write the page with the scenarios to this file, and end."
)
@click.option("--force", is_flag=True, help="Replace a file that this command did not write.")
@click.option(
    "--native", is_flag=True, help="Simulate outside the browser, as is done anyway above 1,000 hosts; faster."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page.  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
@click.option("--quiet", "-q", is_flag=True, is_eager=True, help="Print nothing but the address and errors.")
def view(
    sources: tuple[Path, ...],
    transports: str | None,
    settings: tuple[tuple[str, str], ...],
    stacks: str | None,
    seed: int | None,
    html: Path | None,
    force: bool,
    native: bool,
    port: int,
    no_browser: bool,
    quiet: bool,
) -> None:
    """Watch SCENARIO live in the browser: packets, credits, queues, marks and pauses, as fast or slow as you like.

    A SCENARIO is a file or an example of `clearway list scenarios`. A RUN is a folder of results; it is simulated again
    from its resolved scenario, and the page says whether the hash is the same; the runs of a comparison of two
    transports stand side by side. Without an argument the page opens on its gallery. With --html, the page becomes one
    file that opens from disk and can be sent to others.

    The page is served on this machine alone until Ctrl-C is pressed, at an address that only you know.
    """
    from clearway.view import bundle
    from clearway.view import sources as reading

    if html is not None and (native or port or no_browser):
        raise click.UsageError("--html: writes a file and serves nothing; leave out --native, --port and --no-browser")
    page = bundle.page()
    named = transport_names(transports)
    chosen = [*settings_dict(settings, stacks).items(), *([("seed", str(seed))] if seed is not None else [])]
    opened = reading.opened(sources, reading.Asked(named, chosen))
    tell = notes(quiet=quiet)
    for path in opened.interrupted:
        tell.print(f"{path}: was interrupted, so there is no hash of the whole run to compare with.", markup=False)
    is_large = opened.hosts > NATIVE_ABOVE
    if html is None:
        serve(page, opened.scenes, native or is_large, port, browser=not no_browser, quiet=quiet)
        return
    if is_large:
        tell.print(
            f"{opened.hosts:,} hosts are slow in a browser; `clearway view` without --html simulates natively.",
            markup=False,
        )
    write(page, opened.scenes, html, force=force)
    tell.print(f"Page: {html}", markup=False)


def transport_names(transports: str | None) -> list[str]:
    """The transports of `--transports`: none, one or two."""
    if transports is None:
        return []
    names = [one.strip() for one in transports.split(",")]
    if not all(names) or len(set(names)) < len(names) or len(names) > 2:
        raise click.UsageError(f"--transports {transports}: name one transport, or two with a comma between")
    return names


def write(page: str, scenes: list[Scene], html: Path, *, force: bool) -> None:
    """Writes the page with its scenarios to a file; a file of others is left alone without `force`."""
    from clearway.page_file import write_text
    from clearway.view.start import MARK, with_start

    if html.is_file() and not force and MARK not in reading.start(html, 2000):
        raise _clearway.Error(f"{html}: there is a file that this command did not write; name another, or use --force")
    write_text(with_start(page, scenes), html, "the page")


def serve(page: str, scenes: list[Scene], native: bool, port: int, *, browser: bool, quiet: bool) -> None:
    """Serves the page until Ctrl-C is pressed."""
    from clearway.machine import memory_limit
    from clearway.view.browser import show
    from clearway.view.server import ENGINE, Server
    from clearway.view.start import with_start

    stage = partial(_clearway.Stage, memory=memory_limit()) if native else None
    server = Server(with_start(page, scenes, websocket=ENGINE if native else None), port, stage)
    tell = notes(quiet=quiet)
    try:
        click.echo(server.url)
        tell.print(f"{'The native engine simulates. ' if native else ''}Ctrl-C ends.", markup=False)
        if browser:
            show(server.url)
        server.serve_forever()
    except KeyboardInterrupt:
        tell.print("Closed.")
    finally:
        server.close()
