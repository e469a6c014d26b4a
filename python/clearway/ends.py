"""The ends of the command: its exit codes, and the line that says why it failed. It imports next to nothing.

Python 3.6 and later can read it, as they can `start`, so that a Python that is too old is one line.
"""

import sys

BAD_INPUT = 2
FAILED = 1
#: The exit code after Ctrl-C. As in shells, that of a command which a signal ends is 128 and the number of the signal.
INTERRUPTED = 130
#: The signals that end a command as Ctrl-C does, other than Ctrl-C's own, with their names.
OTHERS = {1: "SIGHUP", 15: "SIGTERM"}
#: The signals that ended the command so far, the first of them first; empty while none did.
heard: "list[int]" = []


def interruption() -> str:
    """The line that says that a signal ended the command, and what became of its results."""
    by = f" by {OTHERS[heard[0]]}" if heard and heard[0] in OTHERS else ""
    return f"interrupted{by}; every folder of results is as it was, or new and whole"


def by_signal(code: int) -> int:
    """The exit code of a command that ended with `code`: that of the signal, if one interrupted it."""
    return 128 + heard[0] if code == INTERRUPTED and heard else code


def complain(message: str, code: int) -> int:
    """Says one line on stderr."""
    print("clearway:", " ".join(part.strip() for part in message.split("\n")).strip(), file=sys.stderr)
    return code
