"""The ends of the command: its exit codes, and the line that says why it failed. It imports next to nothing."""

import sys

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130
WHOLE = "interrupted; every folder of results is as it was, or new and whole"


def complain(message: str, code: int) -> int:
    """Says one line on stderr."""
    print("clearway:", " ".join(message.split("\n")).strip(), file=sys.stderr)
    return code
