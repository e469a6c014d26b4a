"""Names that a user types, with completion in the shell and a suggestion where one is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from clearway import _clearway, examples

#: Names with a line on each.
Names = dict[str, str]
Items = list[CompletionItem[str]]


class Known(click.ParamType[str]):
    """A name out of a list that is read when it is needed."""

    def __init__(self, name: str, names: Callable[[], Names]) -> None:
        self.name = name
        self.names = names

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuses a name that is not in the list."""
        if value not in self.names():
            self.fail(unknown(value, self.name, self.names()), param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG002
        """The names that begin so."""
        return items(self.names(), incomplete)


class KnownList(Known):
    """Names with commas between."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Leaves the names to the command, which tells empty and repeated ones apart."""
        for one in filter(None, map(str.strip, value.split(","))):
            super().convert(one, param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG002
        """The names that go on the last one, but those that are there."""
        given, comma, last = incomplete.rpartition(",")
        there = given.split(",")
        return [
            CompletionItem(f"{given}{comma}{name}", help=about)
            for name, about in self.names().items()
            if name.startswith(last) and name not in there
        ]


class Variant(Known):
    """A name out of a list, with parameters behind it: `expresspass+tell_end=true`."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuses a name that is not in the list; parameters are checked with the scenario."""
        super().convert(value.partition("+")[0].strip(), param, ctx)
        return value


class VariantList(KnownList):
    """Names with parameters behind them, and commas between."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Leaves the names to the command, which tells empty and repeated ones apart."""
        super().convert(",".join(one.partition("+")[0] for one in value.split(",")), param, ctx)
        return value


class Choice(click.Choice[str]):
    """One of a few words, with a suggestion where it is another."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """The message that refuses a word."""
        return super().get_invalid_choice_message(value, ctx).rstrip(".") + _clearway.suggestion(
            str(value), [str(choice) for choice in self.choices]
        )


class NameOf(click.ParamType[str]):
    """The name of an entry of the list that the word before names, for `clearway list`, which checks it."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG002
        """The names that begin so."""
        lists = {
            "transports": transports,
            "topologies": topologies,
            "workloads": workloads,
            "scenarios": examples.names,
            "figures": figures,
        }
        names = lists.get(str(ctx.params.get("what")))
        return items(names(), incomplete) if names else []


class NetworkWord(click.ParamType[str]):
    """A word that describes a network: a file, an example, or a shape and then its keys."""

    name = "word"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """Leaves the word to the command, and says whether it is a file or an example where both have the name."""
        if value not in topologies():
            say(ctx, examples.remark(value))
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
        """Shapes and files for the first word, keys for the others."""
        given = ctx.params.get(str(param.name)) or ()
        if not given:
            known = {**examples.names(examples.SCENARIO, examples.NETWORK), **topologies()}
            return [*entries(incomplete, lambda path: path.name.endswith(".toml")), *items(known, incomplete)]
        keys = next((one["keys"] for one in _clearway.topologies() if one["name"] == given[0]), {})
        there = {word.partition("=")[0] for word in given}
        return [CompletionItem(f"{key}=") for key in keys if key.startswith(incomplete) and key not in there]


class FileWith(click.Path):
    """A file with one of these endings; completion offers them and the folders on the way."""

    def __init__(self, *suffixes: str) -> None:
        super().__init__(path_type=Path)
        self.suffixes = suffixes

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG002
        """The files and folders that begin so."""
        return entries(incomplete, lambda path: path.name.endswith(self.suffixes))


class Described(FileWith):
    """A file of a scenario or sweep, or the name of an example of that kind; completion offers both.

    With `runs`, it may be a folder of results too.
    """

    def __init__(self, kind: str, *, runs: bool = False) -> None:
        super().__init__(examples.ENDING)
        self.kind, self.runs = kind, runs

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        """The path of the file; one that is not there is refused, with a name that is close to it."""
        is_run = self.runs and Path(value).is_dir()
        path = Path(value) if is_run else examples.found(value, self.kind)
        say(ctx, examples.remark(str(value), runs=self.runs))
        return path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG002
        """The files, folders and names that begin so."""
        from clearway.folder import SUMMARY

        def is_wanted(path: Path) -> bool:
            return path.name.endswith(self.suffixes) or (self.runs and (path / SUMMARY).is_file())

        return [*entries(incomplete, is_wanted), *items(examples.names(self.kind), incomplete)]


class RunFolder(click.Path):
    """A folder of results; completion offers them and the folders on the way."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path of the folder; the name of an example is refused with the command that makes one of it."""
        example = None if Path(value).exists() else examples.examples().get(str(value))
        if example is not None:
            make = examples.INSTEAD[example.kind].format(name=example.name)
            raise _clearway.Error(f"{value}: is an example, and no folder of results; {make}")
        return Path(os.fsdecode(super().convert(value, param, ctx)))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG002
        """The runs and folders that begin so."""
        from clearway.folder import SUMMARY

        return entries(incomplete, lambda path: (path / SUMMARY).is_file())


def items(names: Names, incomplete: str) -> Items:
    """The names that begin so, with their lines."""
    return [CompletionItem(name, help=about) for name, about in names.items() if name.startswith(incomplete)]


def entries(incomplete: str, is_wanted: Callable[[Path], bool]) -> Items:
    """The entries of a folder that begin so and are wanted, and the folders among them, which end with a slash."""
    way, slash, last = incomplete.rpartition("/")
    folder = Path(f"{way}{slash}" or ".").expanduser()
    try:
        found = sorted(path for path in folder.iterdir() if path.name.startswith(last))
    except OSError:
        return []
    shown = []
    for path in found:
        if path.name.startswith(".") and not last.startswith("."):
            continue
        if is_wanted(path):
            shown.append(CompletionItem(f"{way}{slash}{path.name}"))
        elif path.is_dir():
            shown.append(CompletionItem(f"{way}{slash}{path.name}/"))
    return shown


def say(ctx: click.Context | None, line: str | None) -> None:
    """Prints a line on standard error, but for completion and for commands that are to be quiet.

    The option `--quiet` is eager where a command has it, so that it is known when arguments are read.
    """
    if line is not None and ctx is not None and not ctx.resilient_parsing and not ctx.params.get("quiet"):
        click.echo(line, err=True)


def unknown(value: str, what: str, known: Iterable[str]) -> str:
    """The message that refuses a name."""
    names = list(known)
    hint = _clearway.suggestion(value, names)
    return f"{value!r} is no {what}{hint} (known: {', '.join(names)})"


def transports() -> Names:
    """The transports."""
    return {one["name"]: one["summary"] for one in _clearway.transports()}


def workloads() -> Names:
    """The workloads."""
    return {one["name"]: one["summary"] for one in _clearway.workloads()}


def topologies() -> Names:
    """The kinds of networks."""
    return {one["name"]: one["summary"] for one in _clearway.topologies()}


def figures() -> Names:
    """The figures that can be reproduced, from the text of their modules: to import them takes a second."""
    found = {}
    pattern = re.compile(r'^FIGURE = Figure\(\s*name="([^"]+)",\s*title="([^"]+)"', flags=re.MULTILINE)
    for path in sorted((Path(__file__).parent.parent / "reproduce").glob("*/*.py")):
        if match := pattern.search(path.read_text("utf-8")):
            found[match[1]] = match[2]
    return dict(sorted(found.items()))


def papers_and_figures() -> Names:
    """The papers and their figures."""
    known = figures()
    papers = dict.fromkeys((name.partition("/")[0] for name in known), "all figures of the paper")
    return {**papers, **known}


FIGURE = Known("figure", papers_and_figures)
TRANSPORT = Known("transport", transports)
TRANSPORTS = KnownList("transport", transports)
VARIANT = Variant("transport", transports)
VARIANTS = VariantList("transport", transports)
WORKLOAD = Known("workload", workloads)
EXAMPLE = Known("example", examples.names)
SCENARIO = Described(examples.SCENARIO)
SCENARIO_OR_RUN = Described(examples.SCENARIO, runs=True)
SWEEP = Described(examples.SWEEP)
