"""The command `clearway man`: the manual page, made of the help of all commands."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator

import click

from clearway.command.place import install, manuals
from clearway.ends import BAD_INPUT, FAILED, INTERRUPTED

EXAMPLES = """\b
Examples:
  clearway man | man -l -
  clearway man --install                                  then: man clearway
"""

#: Exit codes and variables of the environment, which the page explains besides the help of commands.
STATUS = {
    "0": "All went well.",
    str(FAILED): "A simulation failed, or standard output can't be written.",
    str(BAD_INPUT): "Something in the input is wrong; one line says what, where and what would be right.",
    str(INTERRUPTED): "Ctrl-C ended the command; what was simulated is kept. SIGTERM gives 143 and SIGHUP 129.",
}
ENVIRONMENT = {
    "COLUMNS": "The width of tables, where standard output is no terminal.",
    "NO_COLOR, FORCE_COLOR": "Take colours away, or keep them in a file or a pipe.",
    "CLEARWAYD": "The daemon's program, for `clearway testbed`.",
    "CLEARWAY_DEBUG": "With 1, an internal error prints where it was raised.",
}
#: The section of manuals in which commands are.
SECTION = 1


@click.command(epilog=EXAMPLES)
@click.option("--install", "installs", is_flag=True, help="Write it to where `man clearway` finds it.")
@click.pass_context
def man(context: click.Context, installs: bool) -> None:
    """Print the manual page, with every command and option, in the language that `man` reads."""
    root = context.find_root().command
    assert isinstance(root, click.Group)
    text = page(root)
    if installs:
        install(text, manuals() / f"man{SECTION}" / f"clearway.{SECTION}", "man clearway shows it")
    else:
        click.echo(text, nl=False)


def page(root: click.Group) -> str:
    """The manual page of the command and of all commands below it."""
    from clearway import _clearway

    context = click.Context(root, info_name="clearway", **root.context_settings)
    lines = [
        f'.TH CLEARWAY {SECTION} "" "clearway {_clearway.__version__}" "User Commands"',
        # Words are not broken at the ends of lines, since many of them are to be typed as they stand.
        ".nh",
        ".ad l",
        ".SH NAME",
        rf"clearway \- {escaped(sentence(root.help or ''))}",
        ".SH SYNOPSIS",
        synopsis(root, context),
        ".SH DESCRIPTION",
        *prose(root.help or ""),
        ".PP",
        "A command prints results on standard output, and notes and progress on standard error.",
        ".SH OPTIONS",
        *options(root, context),
        ".SH COMMANDS",
        *(line for name, one in commands(root) for line in described(name, one)),
        ".SH EXIT STATUS",
        *terms(STATUS),
        ".SH ENVIRONMENT",
        *terms(ENVIRONMENT),
        ".SH EXAMPLES",
        *verbatim(re.sub(r"^\s*\x08?\s*Examples:\n", "", root.epilog or "")),
    ]
    return "\n".join(lines) + "\n"


def commands(group: click.Group, before: str = "clearway") -> Iterator[tuple[str, click.Command]]:
    """The commands of a group with their whole names, and those below them."""
    from clearway.command.later import Later

    for name, found in group.commands.items():
        command = found.load() if isinstance(found, Later) else found
        yield f"{before} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{before} {name}")


def described(name: str, command: click.Command) -> Iterator[str]:
    """The part of the page on one command."""
    context = click.Context(command, info_name=name)
    yield f'.SS "{escaped(name)}"'
    yield synopsis(command, context)
    yield ".PP"
    yield from prose(command.help or "")
    yield from options(command, context)
    if command.epilog:
        yield ".PP"
        yield from verbatim(inspect.cleandoc(command.epilog.replace("\b", "")))


def synopsis(command: click.Command, context: click.Context) -> str:
    """The call of a command, as its help says it."""
    return rf"\fB{escaped(context.command_path)}\fR {escaped(' '.join(command.collect_usage_pieces(context)))}"


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """The options of a command with their lines of help."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        # Arguments stand in the call, and each command has `--help`.
        if record is not None and record[1] and ("--help" not in parameter.opts or context.command_path == "clearway"):
            yield from (".TP", rf"\fB{escaped(record[0])}\fR", *wrapped(record[1]))


def terms(of: dict[str, str]) -> Iterator[str]:
    """Terms with what they mean."""
    for term, meaning in of.items():
        yield from (".TP", rf"\fB{escaped(term)}\fR", *wrapped(meaning))


def prose(text: str) -> Iterator[str]:
    """Paragraphs of a help; those that click is told to leave as they are stay so."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", inspect.cleandoc(text))):
        if number:
            yield ".PP"
        if paragraph.startswith("\b"):
            yield from verbatim(paragraph.removeprefix("\b").strip("\n"))
        else:
            yield from wrapped(paragraph)


def verbatim(text: str) -> Iterator[str]:
    """Lines that are shown as they stand, such as examples."""
    yield ".nf"
    yield from map(escaped, text.rstrip().splitlines())
    yield ".fi"


def wrapped(text: str) -> Iterator[str]:
    """A text in lines of the source that are not too long for those who read it."""
    yield from map(escaped, textwrap.wrap(" ".join(text.split()), 72, break_long_words=False, break_on_hyphens=False))


def sentence(text: str) -> str:
    """The first sentence of a help, as a phrase."""
    first = " ".join(text.split()).partition(". ")[0].rstrip(".")
    return first[:1].lower() + first[1:]


def escaped(text: str) -> str:
    """A line whose letters have no other meaning to man."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\(ga").replace("'", r"\(aq")
    text = text.replace('"', r"\(dq").replace("^", r"\(ha").replace("~", r"\(ti")
    text = text.replace("|", r"|\:")  # A long choice may be broken behind a word.
    return rf"\&{text}" if text.startswith(".") else text
