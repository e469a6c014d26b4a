"""The beginning of the command: it imports nothing but what is at hand, so that Ctrl-C is heard from here on.

Ctrl-C waits until modules are loaded. In the middle of an import its exception would be lost, printed by Python, or
turned into another error: Polars makes a panic of it, there and in its own calls.
"""

import os
import sys

from clearway.ends import INTERRUPTED, WHOLE

# Known to mypy under this name; the module `typing` itself takes longer to load than the rest of this file.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

#: Seconds after which Ctrl-C that had to wait tries again.
PATIENCE_S = 0.002


def main() -> "NoReturn":
    """Runs the command; whatever goes wrong is one line on stderr."""
    try:
        import signal

        # Ctrl-C stays ignored where a shell put the command into the background.
        ear = Ear() if signal.getsignal(signal.SIGINT) is signal.default_int_handler else None
        if ear:
            signal.signal(signal.SIGINT, ear)
        from clearway.command import guarded
        from clearway.command.streams import standard

        with standard() as streams:
            code = streams.checked(guarded())
            if ear:
                # All is done and told; what is left is Python's own end, which Ctrl-C would fill with tracebacks.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                if ear.waits:
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        leave()
    sys.exit(code)


class Ear:
    """The handler of Ctrl-C, which raises `KeyboardInterrupt` as Python's own does, but where nothing breaks by it."""

    def __init__(self) -> None:
        import _thread  # what `threading` is built on, without its import
        import signal
        import time

        self._interrupt, self._sleep, self._start = _thread.interrupt_main, time.sleep, _thread.start_new_thread
        self._signal = signal.SIGINT
        #: True from a Ctrl-C that must wait until it is heard.
        self.waits = False
        self._is_repeated = False

    def __call__(self, _: int, frame: "FrameType | None") -> None:
        """Raises the exception now, or has the signal come again soon."""
        self.waits = must_wait(frame)
        if not self.waits:
            raise KeyboardInterrupt
        if not self._is_repeated:
            self._is_repeated = True
            self._start(self._repeat, ())

    def _repeat(self) -> None:
        self._sleep(PATIENCE_S)
        self._is_repeated = False
        if self.waits:
            self._interrupt(self._signal)


def must_wait(frame: "FrameType | None") -> bool:
    """True while a module is imported, and while Polars is at work, whose Rust code takes no exception from Python."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if frame.f_code.co_filename.startswith("<frozen importlib") or module.partition(".")[0] == "polars":
            return True
        frame = frame.f_back
    return False


def leave() -> "NoReturn":
    """Ends the process with a line that says why; nothing is open yet, or any more, that would have to be closed."""
    try:
        os.write(2, f"clearway: {WHOLE}\n".encode())
    finally:
        os._exit(INTERRUPTED)
