"""A group of commands that are imported when they are used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from clearway import _clearway


@contextmanager
def aborted() -> Iterator[None]:
    """Turns Ctrl-C into click's own word for it, so that click does not print an empty line."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise click.Abort from error


class Later(click.Command):
    """A command whose module is imported when the command is called; its line in the group's help is known before."""

    def __init__(self, name: str, place: str, summary: str) -> None:
        super().__init__(name, short_help=summary)
        self.place = place

    def load(self) -> click.Command:
        """Imports the command."""
        module, _, name = self.place.partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command


class LaterGroup(click.Group):
    """A group whose commands are `Later`, so that its help, its version and its completion import none of them."""

    def __init__(self, *arguments: Any, later: Mapping[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name, (place, summary) in later.items():
            self.add_command(Later(name, place, summary))

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Reads the words of the call; `--help` and `--version` are answered here."""
        with aborted():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command that is called."""
        with aborted():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command that is called, and imports it."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            hint = _clearway.suggestion(error.command_name, list(self.commands))
            raise click.UsageError(f"no such command {error.command_name!r}{hint}", ctx) from None
        loaded = command.load() if isinstance(command, Later) else command
        if loaded is not None and not ctx.resilient_parsing:
            refuse_repeated(loaded, rest, ctx)
        return name, loaded, rest


def refuse_repeated(command: click.Command, words: list[str], parent: click.Context) -> None:
    """Raises an error for an option that is given twice with a value, of which click would ignore the first."""
    context = click.Context(command, parent, command.name)
    try:
        _, rest, order = command.make_parser(context).parse_args(list(words))
    except click.UsageError:  # The call itself says so.
        return
    once = [one for one in order if isinstance(one, click.Option) and not (one.multiple or one.is_flag or one.count)]
    for option in once:
        if once.count(option) > 1:
            from clearway.command.names import KnownList

            how = ", with commas between the names" if isinstance(option.type, KnownList) else ""
            raise click.UsageError(f"{option.opts[0]}: is given twice; give it once{how}", context)
    if isinstance(command, click.Group) and rest and (inner := command.commands.get(rest[0])):
        refuse_repeated(inner, rest[1:], context)
