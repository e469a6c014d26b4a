"""The beginning of the command: it imports nothing but what is at hand, so that signals are heard from here on.

Ctrl-C, SIGTERM (as `kill`, `timeout` and clusters send it) and SIGHUP (as a terminal sends that is closed) end the
command in the same way: it keeps what was simulated, and says one line. They wait until modules are loaded. In the
middle of an import their exception would be lost, printed by Python, or turned into another error: Polars makes a panic
of it, there and in its own calls.

Python 3.6 and later can read this file, so that a Python that is too old is one line.
"""

import os
import sys

from clearway.ends import FAILED, INTERRUPTED, by_signal, complain, heard, interruption

# Known to mypy under this name; the module `typing` itself takes longer to load than the rest of this file.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

#: The oldest Python that Clearway runs on; pyproject.toml says the same to pip.
OLDEST = (3, 11)
#: Seconds after which a signal that had to wait tries again.
PATIENCE_S = 0.002


def main() -> "NoReturn":
    """Runs the command; whatever goes wrong is one line on stderr."""
    if sys.version_info < OLDEST:
        this = ".".join(map(str, sys.version_info[:3]))
        sys.exit(complain(f"needs Python {OLDEST[0]}.{OLDEST[1]} or newer; this is {this}", FAILED))
    try:
        ear = Ear()
        ear.listen()
        try:
            from clearway.command import guarded
            from clearway.command.streams import standard
        except ImportError as error:
            sys.exit(complain(unloadable(error), FAILED))
        with standard() as streams:
            code = streams.checked(guarded())
            ear.close()
            if ear.waits:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        leave()
    sys.exit(by_signal(code))


def unloadable(error: ImportError) -> str:
    """Says why the command can't be loaded, and what to do about it."""
    name = error.name or ""
    if name.startswith("clearway"):
        return f"its compiled part can't be loaded ({error}); install Clearway with pip, or build it with make build"
    return f"the Python package {name} is missing; pip brings it where it installs Clearway, as does make build"


class Ear:
    """The handler of signals that end the command, which raises `KeyboardInterrupt` but where nothing breaks by it."""

    def __init__(self) -> None:
        import _thread  # what `threading` is built on, without its import
        import signal
        import time

        self._interrupt, self._sleep, self._start = _thread.interrupt_main, time.sleep, _thread.start_new_thread
        #: True from a signal that must wait until it is heard.
        self.waits = False
        self._is_repeated = False
        self._last = signal.SIGINT
        self._set, self._ignore, self._signal = signal.signal, signal.SIG_IGN, signal.Signals
        # Ctrl-C stays ignored where a shell put the command into the background, and SIGHUP under `nohup`.
        self._wanted = [
            number
            for number, default in (
                (signal.SIGINT, signal.default_int_handler),
                (signal.SIGTERM, signal.SIG_DFL),
                (signal.SIGHUP, signal.SIG_DFL),
            )
            if signal.getsignal(number) == default
        ]

    def listen(self) -> None:
        """Becomes the handler of those signals that nobody has the command ignore."""
        for number in self._wanted:
            self._set(number, self)

    def close(self) -> None:
        """Has the signals ignored: all is done and told; Python's own end is left, which they would fill with text."""
        for number in self._wanted:
            self._set(number, self._ignore)

    def __call__(self, number: int, frame: "FrameType | None") -> None:
        """Raises the exception now, or has the signal come again soon."""
        self._last = self._signal(number)
        heard.append(number)
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
            self._interrupt(self._last)


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
        os.write(2, f"clearway: {interruption()}\n".encode())
    finally:
        os._exit(by_signal(INTERRUPTED))
