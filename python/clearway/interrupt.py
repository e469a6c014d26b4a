"""Ctrl-C: the exception that carries what was simulated, and simulations in threads that hear of it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from clearway import _clearway


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a simulation; what was simulated until then comes with the exception.

    As a `KeyboardInterrupt` it ends loops and programs and passes `except Exception`, as Ctrl-C should.
    """

    def __init__(self, run: Any = None, partial: Any = None) -> None:
        super().__init__(message(run, partial))
        #: The run (`clearway.Run`) that was under way, over the time simulated; None if none had begun.
        self.run = run
        #: All that the call would have returned, as far as it got: a `Run`, a `Comparison` or the results of a sweep.
        self.partial = run if partial is None else partial

    def __reduce__(self) -> tuple[type[Interrupted], tuple[Any, Any]]:
        return type(self), (self.run, self.partial)


def message(run: Any, partial: Any) -> str:
    """Says what was simulated."""
    if run is None and partial is not None:
        return f"interrupted; what was finished: {partial!r}"
    if run is None:
        return "interrupted before anything was simulated"
    return f"{run.name} under {run.label}: interrupted after {run.summary['simulated_s']:g} s of simulated time"


class Watch:
    """A progress callback around the user's own, which tells Ctrl-C from a callback that ended the run.

    Python delivers signals to the main thread alone. A simulation in another thread therefore looks at the main thread
    each time that it reports its progress, and ends when Ctrl-C is at work there.

    Polars, when it is imported, replaces the handler of SIGINT by one that restarts system calls. A main thread that
    waits for another thread then never hears of Ctrl-C. So the watch lets the signal interrupt system calls, as Python
    itself does.
    """

    def __init__(self, progress: Callable[[_clearway.Progress], object] | None) -> None:
        if hasattr(signal, "siginterrupt"):  # Windows has none, and needs none.
            signal.siginterrupt(signal.SIGINT, True)
        self._progress = progress
        self._elsewhere = threading.current_thread() is not threading.main_thread()
        self._before = last_interrupt()
        #: True if the user's callback returned False.
        self.declined = False

    def __call__(self, progress: _clearway.Progress) -> bool:
        """Asks the user's callback, and looks whether Ctrl-C is at work elsewhere."""
        if self._elsewhere and self.stopped():
            return False
        self.declined = self._progress is not None and self._progress(progress) is False
        return not self.declined

    def stopped(self) -> bool:
        """True if a simulation in a thread other than the main one must end, since Ctrl-C was pressed."""
        if not self._elsewhere:
            return False
        if is_interrupted(threading.main_thread()):
            return True
        last = last_interrupt()
        # A main thread that is gone left its last exception; while it lives, an old one says nothing.
        return last is not None and (last is not self._before or not threading.main_thread().is_alive())


def is_interrupted(thread: threading.Thread) -> bool:
    """True while a thread handles a `KeyboardInterrupt`, as in the `finally` that waits for the threads of a pool."""
    found = sys._current_exceptions().get(thread.ident or 0)
    # CPython 3.11 gives the usual triple, later versions the exception.
    error = found[1] if isinstance(found, tuple) else found
    return isinstance(error, KeyboardInterrupt)


def last_interrupt() -> BaseException | None:
    """The exception that ended the program, the notebook's cell or the prompt's line, if Ctrl-C did."""
    last = getattr(sys, "last_value", None)
    return last if isinstance(last, KeyboardInterrupt) else None
