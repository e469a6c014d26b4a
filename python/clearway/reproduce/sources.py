"""What a result depends on besides its scenario: the simulator as compiled, and the sources that measure it."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from clearway import _clearway

#: Only what the package itself defines is part of a fingerprint.
PACKAGE = "clearway"


def digest(*parts: str) -> str:
    """A short hash of texts."""
    return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def engine_hash() -> str:
    """Hash of the sources that the simulator was compiled from. Results don't depend on how it was compiled."""
    return _clearway.__sources__


def fingerprint(function: Callable[..., object]) -> str:
    """Hash of a function's source and of all functions, classes and constants of this package that it uses.

    So the result of a measurement is kept until something changes that it depends on, and no longer.
    """
    seen: dict[str, str] = {}
    collect(function, seen)
    return digest(*(f"{name}={text}" for name, text in sorted(seen.items())))


def collect(thing: object, seen: dict[str, str]) -> None:
    """Adds the source of a function or class and of what it refers to."""
    if not isinstance(thing, FunctionType | type) or not (thing.__module__ or "").startswith(PACKAGE):
        return
    name = f"{thing.__module__}.{thing.__qualname__}"
    if name in seen:
        return
    seen[name] = inspect.getsource(thing)
    functions = [thing] if isinstance(thing, FunctionType) else methods(thing)
    for function in functions:
        for used, value in references(function):
            if isinstance(value, FunctionType | type):
                collect(value, seen)
            elif not isinstance(value, ModuleType) and not callable(value):
                seen[f"{function.__module__}:{used}"] = repr(value)


def methods(of: type) -> list[FunctionType]:
    """The functions of a class, those behind properties included."""
    found = [getattr(value, "fget", None) or getattr(value, "__func__", value) for value in vars(of).values()]
    return [one for one in found if isinstance(one, FunctionType)]


def references(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The globals of this package that a function names, and the attributes of its modules."""
    function = inspect.unwrap(function)
    names = {name for code in codes(function.__code__) for name in code.co_names}
    for name in sorted(names):
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            if value.__name__.startswith(PACKAGE):
                yield from ((f"{name}.{one}", vars(value)[one]) for one in sorted(names) if one in vars(value))
        elif value is not None:
            yield name, value


def codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def page_sources(module: str) -> str:
    """Hash of a figure's module, its prose, and every module of `clearway.reproduce` that they import."""
    todo, texts = [module], dict[str, str]()
    while todo:
        name = todo.pop()
        if name in texts or not name.startswith(f"{PACKAGE}.reproduce"):
            continue
        path = Path(str(sys.modules[name].__file__))
        prose = path.with_suffix(".md")
        texts[name] = path.read_text("utf-8") + (prose.read_text("utf-8") if prose.exists() else "")
        used = vars(sys.modules[name]).values()
        todo += [one.__name__ if isinstance(one, ModuleType) else str(getattr(one, "__module__", "")) for one in used]
    return digest(*(text for _, text in sorted(texts.items())))
