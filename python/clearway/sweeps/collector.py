"""Python's collector of cycles, which many objects that are all kept make slow."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Has no cycles looked for meanwhile.

    The collector looks at all objects each time a quarter more are there. Where points and their numbers are read by
    the ten thousand, all of which stay, that takes up to half of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
