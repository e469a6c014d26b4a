"""Modules that are imported when something is first asked of them."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType


def lazily(name: str) -> ModuleType:
    """The module of this name, which is imported when an attribute of it is first asked for.

    For packages that take a second to import, in modules of which most processes need other parts.
    """
    if name in sys.modules:
        return sys.modules[name]
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class WhenUsed(ModuleType):
    """Stands for a module, which is imported when an attribute of it is first asked for, by whichever thread."""

    def __getattr__(self, name: str) -> object:
        """Imports the module, unless it is there."""
        found: object = getattr(import_module(self.__name__), name)
        return found
