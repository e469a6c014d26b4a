"""The `clearway` command."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from pathlib import Path

import click

from clearway import _clearway
from clearway.command.later import LaterGroup
from clearway.ends import BAD_INPUT, FAILED, INTERRUPTED, complain, interruption

#: Errors of a disk that is full or broken, for which Python does not name the file that was being written.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

EXAMPLES = """\b
Examples:
  clearway run incast --transport expresspass
  clearway compare websearch --transports expresspass,dctcp
  clearway view incast --transports expresspass,dctcp
  clearway sweep buffers
  clearway plan stability pacc --rate "25 Gbps"
  clearway list transports expresspass
  clearway report out/websearch
  clearway reproduce expresspass/fig16
"""


#: The commands: where each is defined, and its line in the help.
COMMANDS = {
    "check": ("clearway.command.check:check", "Say what a scenario would simulate, and what it would cost."),
    "compare": ("clearway.command.compare:compare", "Simulate a scenario under several transports."),
    "completion": ("clearway.command.completion:completion", "Print the script that completes words in your shell."),
    "demo": ("clearway.command.demo:demo", "Simulate ExpressPass against DCTCP, and write a report."),
    "export": ("clearway.command.export:export", "Write a run in the formats of other simulators."),
    "list": ("clearway.command.listing:list_", "List transports, topologies, workloads, examples or figures."),
    "man": ("clearway.command.man:man", "Print the manual page."),
    "new": ("clearway.command.new:new", "Write a commented scenario to start from."),
    "parity": ("clearway.command.parity:parity", "Compare with the simulators of the protocols' authors."),
    "plan": ("clearway.command.plan:plan", "Answer from the papers' formulas, without a simulation."),
    "report": ("clearway.command.report:report", "Make a page with tables and pictures of results."),
    "reproduce": ("clearway.command.reproduce:reproduce", "Reproduce figures of papers."),
    "run": ("clearway.command.run:run", "Simulate a scenario."),
    "schema": ("clearway.command.schema:schema", "Print the JSON Schema of scenario files, for editors."),
    "show": ("clearway.command.show:show", "Draw a network, and say how large and how fast it is."),
    "sweep": ("clearway.command.sweep:sweep", "Simulate a scenario at every point of its axes."),
    "testbed": ("clearway.command.testbed:testbed", "Measure the daemon under real TCP, on network namespaces."),
    "vectors": (
        "clearway.command.vectors:vectors",
        "Write test vectors of NSCC, RCCC and REPS for implementers.",
    ),
    "view": ("clearway.command.view:view", "Watch a scenario or results live in the browser."),
}


def version_text() -> str:
    """The version, and what tells this build from others: its commit, a hash of its sources, how it was compiled."""
    commit, mark, dirty = (_clearway.__commit__ or "").partition("-")
    of = [f"commit {commit[:12]}{mark}{dirty}"] if commit else []
    return f"{_clearway.__version__} ({', '.join([*of, f'sources {_clearway.__build__}', _clearway.__profile__])})"


@click.group(
    cls=LaterGroup,
    later=COMMANDS,
    epilog=EXAMPLES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(version_text(), message="clearway %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Simulate congestion control in datacenter networks, packet by packet."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def guarded() -> int:
    """Runs the command and returns its exit code."""
    try:
        if "_CLEARWAY_COMPLETE" in os.environ:
            importlib.import_module("clearway.command.completion")
        code = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return BAD_INPUT
    except click.NoSuchOption as error:
        known = [name for one in error.ctx.command.params for name in one.opts] if error.ctx else []
        problem = f"no such option {error.option_name!r}{_clearway.suggestion(error.option_name, known)}"
        return complain(f"{problem}{hint(error.ctx)}", BAD_INPUT)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        message = error.format_message().replace("is not a valid integer range.", "is no whole number")
        return complain(f"{message}{hint(context)}", BAD_INPUT)
    except _clearway.SimulationError as error:
        return complain(str(error), FAILED)
    except _clearway.Error as error:
        return complain(str(error), BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        return complain(interruption(), INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # Click's way to say that a pipe broke; no command exits otherwise.
        return reader_left()
    except MemoryError:
        return complain("out of memory", FAILED)
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps what comes while it makes a class.
            return complain(interruption(), INTERRUPTED)
        if os.environ.get("CLEARWAY_DEBUG"):
            raise
        if isinstance(error, FileNotFoundError) and is_nowhere():
            return complain("the current folder is gone; go to another, such as with cd", BAD_INPUT)
        if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("clearway"):
            return complain(f"the Python package {error.name} is missing; pip install {error.name} brings it", FAILED)
        if isinstance(error, UnicodeEncodeError) and (word := undecoded()) is not None:
            return complain(f"{word}: is no text in UTF-8, as names and values must be", BAD_INPUT)
        if isinstance(error, OSError) and error.filename is not None:
            return complain(f"{error.filename}: can't be read or written: {error.strerror}", BAD_INPUT)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return complain(f"a file can't be written: {error.strerror}", FAILED)
        what = " ".join(f"{type(error).__name__}: {error}".split())
        return complain(f"internal error, please report it (CLEARWAY_DEBUG=1 shows where): {what}", FAILED)
    return code if isinstance(code, int) else 0


def reader_left() -> int:
    """Ends the command without an error because its reader has seen enough, as in `clearway ... | head`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def is_nowhere() -> bool:
    """True if the current folder was removed while the command, or its shell, was in it."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def undecoded() -> str | None:
    """The first word of the call that Python could not decode, with the bytes that are no text by their numbers."""
    broken = (word for word in sys.argv if any("\ud800" <= letter <= "\udfff" for letter in word))
    return next((repr(os.fsencode(word))[1:] for word in broken), None)


def hint(context: click.Context | None) -> str:
    """A pointer to the help of the command that was used wrongly."""
    return f" (see {context.command_path} --help)" if context else ""
