"""The sources that a result depends on, as hashes: the simulator as compiled, the code of the package, files it reads.

Code is followed from function to function: what counts is the code of each function and class that is reached, and the
value of each constant that they name. Comments and docstrings don't count, since no result depends on them.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from hashlib import blake2b
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import polars as pl

from clearway import _clearway

#: Functions, classes and constants of this package are followed; what lies outside of it is not.
PACKAGE = "clearway"
#: Folder of the package. No hash depends on it.
HOME = str(Path(__file__).parent.parent)


def digest(*parts: str) -> str:
    """A short hash of texts."""
    return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def engine_hash() -> str:
    """Hash of the sources that the simulator was compiled from. Results don't depend on how it was compiled."""
    return _clearway.__sources__


def scenario_text(scenario: Mapping[str, Any]) -> str:
    """A scenario as text, with the content of each file that it names, wherever the package lies."""
    text = json.dumps(scenario, sort_keys=True)
    home = json.dumps(HOME)[1:-1]
    named = strings(scenario) if home in text else ()
    read = [Path(one).read_text("utf-8") for one in named if one.startswith(HOME) and Path(one).is_file()]
    return "\n".join([text.replace(home, ""), *read])


def strings(value: object) -> Iterator[str]:
    """The texts in a nested value, keys apart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from strings(one)


def fingerprint(*things: object) -> str:
    """Hash of functions, of all functions and classes of this package that they use, and of constants they name.

    A measurement is kept until something changes that it depends on, and no longer.
    """
    trace = Trace()
    for thing in things:
        trace.follow("", thing)
    return digest(*sorted(trace.texts))


class Trace:
    """Collects the code and the constants that a function depends on."""

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self._seen: set[object] = set()

    def follow(self, name: str, value: object) -> None:
        """Adds a value that is known by `name`: the code of a function or class, the content of anything else."""
        if isinstance(value, ModuleType):
            return
        if isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self.follow(name, part)
        elif isinstance(one := unwrapped(value), FunctionType | type):
            self._code(one)
        elif isinstance(value, Mapping):
            for key, part in value.items():
                self.follow(f"{name}[{key!r}]", part)
        elif isinstance(value, list | tuple):
            for index, part in enumerate(value):
                self.follow(f"{name}[{index}]", part)
        elif isinstance(value, set | frozenset):
            self.follow(name, sorted(value, key=repr))
        elif is_dataclass(value):
            self._code(type(value))
            for one in fields(value):
                self.follow(f"{name}.{one.name}", getattr(value, one.name))
        else:
            self._constant(name, value)

    def _constant(self, name: str, value: object) -> None:
        self._code(type(value))
        # The `repr` of an expression is cut short; an address differs from process to process.
        text = str(value) if isinstance(value, pl.Expr) else repr(value)
        self.texts.add(f"{name} = {re.sub(r' at 0x[0-9a-fA-F]+', '', text.replace(HOME, ''))}")

    def _code(self, thing: FunctionType | type) -> None:
        if (thing.__module__ or "").partition(".")[0] != PACKAGE or thing in self._seen:
            return
        self._seen.add(thing)
        part = source(thing)
        if part is None:
            return
        self.texts.add(part.text)
        for name, value in part.references():
            self.follow(name, value)
        if isinstance(thing, type):
            for base in thing.__bases__:
                self.follow("", base)
        else:
            for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
                self.follow(name, cell.cell_contents)


def unwrapped(value: object) -> object:
    """The function behind a decorator such as `functools.cache`."""
    return inspect.unwrap(value) if callable(value) else value


@dataclass(frozen=True)
class Source:
    """A stretch of a module: a function or class."""

    module: str
    text: str
    #: The names in it, with the attributes asked of them: `("quantities", "port")`.
    names: frozenset[tuple[str, ...]]

    def references(self) -> Iterator[tuple[str, object]]:
        """The globals that it names, and the attributes of modules of this package."""
        known = vars(sys.modules[self.module])
        for chain in sorted(self.names):
            value, rest = known.get(chain[0]), chain[1:]
            while isinstance(value, ModuleType) and is_followed(value) and rest:
                value, rest = vars(value).get(rest[0]), rest[1:]
            if value is not None:
                yield f"{self.module}:{'.'.join(chain)}", value


def is_followed(module: ModuleType) -> bool:
    """True if a module is Python code of this package. The simulator is part of `engine_hash`."""
    return module.__name__.partition(".")[0] == PACKAGE and module is not _clearway


@functools.cache
def source(thing: FunctionType | type) -> Source | None:
    """The source of a function or class, without comments and docstrings; None for compiled and generated ones.

    The former are part of `engine_hash`, the latter follow from the class that they were generated for.
    """
    if sys.modules[thing.__module__] is _clearway:
        return None
    module = module_text(thing.__module__)
    if (node := module.definition(thing)) is not None:
        lines = bare(module.lines[first_line(node) - 1 : node.end_lineno])
        names = {chain for _, chain in chains(node)}
    else:  # Such as a lambda, which is part of some statement.
        try:
            text, first = inspect.getsourcelines(thing)
        except (OSError, TypeError):
            return None
        stretch = range(max(first, 1), max(first, 1) + len(text))
        lines = bare(module.lines)[stretch.start - 1 : stretch.stop - 1]
        names = {chain for line, chain in chains(module.tree) if line in stretch}
    kept = [line for line in lines if line]
    if isinstance(thing, FunctionType):
        every = list(codes(thing.__code__))
        local = {name for code in every for name in (*code.co_varnames, *code.co_cellvars)}
        local -= {name for code in every for name in code.co_names}
        names = {chain for chain in names if chain[0] not in local}
    return Source(thing.__module__, "\n".join(kept), frozenset(names))


def codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


#: The definition of a function or a class.
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Text:
    """The text of a module."""

    file: str
    lines: list[str]
    tree: ast.Module
    #: Definitions of functions by their first lines, and of classes by their qualified names.
    functions: dict[int, Definition]
    classes: dict[str, Definition]

    def definition(self, thing: FunctionType | type) -> Definition | None:
        """The definition of a function or class, if it is one of this module."""
        if isinstance(thing, type):
            return self.classes.get(thing.__qualname__)
        code = thing.__code__
        found = self.functions.get(code.co_firstlineno) if code.co_filename == self.file else None
        return found if found is not None and found.name == code.co_name else None


@functools.cache
def module_text(name: str) -> Text:
    """A module, read once."""
    file = str(sys.modules[name].__file__)
    text = Path(file).read_text("utf-8")
    found = Text(file, text.splitlines(), ast.parse(text), {}, {})
    for qualified, node in definitions(found.tree):
        if isinstance(node, ast.ClassDef):
            found.classes.setdefault(qualified, node)
        else:
            found.functions[first_line(node)] = node
    return found


def definitions(parent: ast.AST, above: str = "") -> Iterator[tuple[str, Definition]]:
    """The functions and classes that are defined in a stretch of code, with their qualified names."""
    for block in ("body", "handlers", "orelse", "finalbody"):
        for node in getattr(parent, block, ()):
            if isinstance(node, Definition):
                name = above + node.name
                yield name, node
                yield from definitions(node, f"{name}." if isinstance(node, ast.ClassDef) else f"{name}.<locals>.")
            elif not isinstance(node, ast.expr):
                yield from definitions(node, above)


def first_line(node: Definition) -> int:
    """The line at which a definition begins: that of its first decorator, if it has any."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def chains(node: ast.AST) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The names below a node and the attributes asked of them, with their lines. Annotations are no use of a name."""
    parts: list[str] = []
    inner = node
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name):
        yield inner.lineno, (inner.id, *reversed(parts))
        return
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from chains(child)


def bare(source: Sequence[str]) -> list[str]:
    """The lines of a Python source, emptied of comments, docstrings and the blanks at their ends."""
    lines = [*source]
    ignored = (tokenize.NL, tokenize.COMMENT)
    tokens = list(tokenize.generate_tokens(iter([f"{line}\n" for line in lines]).__next__))
    spoken = [one for one in tokens if one.type not in ignored]
    starts = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    dropped = [one for one in tokens if one.type == tokenize.COMMENT]
    for before, one, after in zip([None, *spoken], spoken, spoken[1:], strict=False):
        alone = (before is None or before.type in starts) and after.type == tokenize.NEWLINE
        if one.type == tokenize.STRING and alone:
            dropped.append(one)
    for one in sorted(dropped, key=lambda each: each.start, reverse=True):
        (first, left), (last, right) = one.start, one.end
        ends = lines[first - 1][:left], lines[last - 1][right:]
        lines[first - 1 : last] = [ends[0], *[""] * (last - first)]
        lines[last - 1] += ends[1]
    return [line.rstrip() for line in lines]
