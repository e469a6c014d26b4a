"""Reading files that may be damaged, without the panics that Polars prints on standard error about them.

Polars meets what it did not expect in a file with a panic of its Rust code, which prints its message and a backtrace
before it becomes an exception of Python. Whoever reads the file makes one line of the exception; the text is dropped.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: Standard error is one for all threads.
LOCK = threading.RLock()


@contextmanager
def silenced() -> Iterator[None]:
    """Holds back what is printed on standard error until the block or function ends, and drops it if there is an error.

    It works on the file descriptor, since Rust does not know Python's streams.
    """
    with LOCK:
        try:
            sys.stderr.flush()
            kept = os.dup(2)
        except (AttributeError, OSError):  # There is no standard error, and so nothing to keep.
            yield
            return
        with tempfile.TemporaryFile() as said, os.fdopen(kept, "wb", buffering=0) as before:
            os.dup2(said.fileno(), 2)
            try:
                yield
            except BaseException:
                os.dup2(kept, 2)
                raise
            os.dup2(kept, 2)
            said.seek(0)
            if text := said.read():
                # A standard error that can't be written never fails a command.
                with suppress(OSError):
                    before.write(text)
