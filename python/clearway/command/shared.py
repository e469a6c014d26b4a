"""Options that several commands share, and the consoles that they print to."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from clearway.command.names import Choice
from clearway.command.silent import Notes, Silent
from clearway.command.threads import threads_option

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])


class Setting(click.ParamType[tuple[str, str]]):
    """`key=value`, as `--set` takes it."""

    name = "key=value"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Splits at the first `=`."""
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            self.fail(f"{value!r}: write key=value, such as switch.buffer='1 MB'", param, ctx)
        return key.strip(), text.strip()

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem[str]]:
        """Offers the keys of the scenario that the call names, each with `=`; once a key stands there, its values."""
        from clearway import examples
        from clearway.scenario import keys

        # Before the value of an option is there, click leaves arguments in `args`.
        named = [ctx.params.get("scenario"), ctx.params.get("file"), *ctx.args]
        content = next((keys.read(examples.named(one, *examples.KINDS) or Path(one)) for one in named if one), {})
        known = keys.settable(content, ctx.params.get("transport"))
        key, equals, begun = incomplete.partition("=")
        if equals:
            words = keys.words(known[key]) if key in known else []
            return [CompletionItem(f"{key}={word}") for word in words if word.startswith(begun)]
        return [
            CompletionItem(f"{name}=", help=one["doc"].partition(". ")[0])
            for name, one in known.items()
            if name.startswith(incomplete)
        ]


def settings_options(function: F) -> F:
    """The options that change a scenario as it is read."""
    options = [
        click.option("--set", "settings", type=Setting(), multiple=True, help="Set a key of the scenario; repeatable."),
        click.option(
            "--stacks",
            type=Choice(["own", "equal"]),
            help="How connections start: each transport's own way, or all alike (a handshake, a first window of 2).",
        ),
        click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Seed, instead of the scenario's."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def run_options(function: F) -> F:
    """The options of every command that simulates."""
    options = [
        settings_options,
        click.option(
            "--out",
            type=click.Path(path_type=Path),
            help="Folder for the results.  [default: in out, named for the scenario and what is set]",
        ),
        click.option(
            "--force", is_flag=True, help="Replace other results, or write into a folder with other files; they stay."
        ),
        threads_option,
        click.option("--json", "as_json", is_flag=True, help="Print the results as JSON."),
        click.option("--quiet", "-q", is_flag=True, is_eager=True, help="Print nothing but errors."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def settings_dict(settings: tuple[tuple[str, str], ...], stacks: str | None = None) -> dict[str, str]:
    """The settings as a dict, with `--stacks` as one of them; a key that is there twice is a mistake."""
    found: dict[str, str] = {} if stacks is None else {"stacks": stacks}
    for key, value in settings:
        if key in found:
            raise click.UsageError(f"--set {key}: this key is set twice; set it once")
        found[key] = value
    return found


def console(*, quiet: bool = False) -> Console:
    """The console for results, on standard output; as wide as `COLUMNS` says, or 120 where that is no terminal."""
    from clearway.command.printer import Printer

    said = os.environ.get("COLUMNS", "")
    width = None if sys.stdout.isatty() or (said.isdecimal() and int(said) > 0) else 120
    return Printer(quiet=quiet, width=width)


def notes(*, quiet: bool = False) -> Notes:
    """The console for everything but results, on standard error."""
    if quiet:
        return Silent()
    from clearway.command.printer import Printer

    return Printer(stderr=True, quiet=quiet, soft_wrap=True)


def print_json(value: object) -> None:
    """Prints JSON; a number that is none becomes null."""
    print(json.dumps(without_nan(value), indent=2, ensure_ascii=False))


def without_nan(value: object) -> object:
    """A nested value with None for numbers that JSON can't write, such as NaN."""
    if isinstance(value, dict):
        return {key: without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
