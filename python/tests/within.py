"""The command within the process of the tests, without the time that Python takes to start and to load it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from clearway.command import guarded
from clearway.command.streams import standard

#: What Python does not show unless it is asked to.
HIDDEN = (DeprecationWarning, ImportWarning, PendingDeprecationWarning, ResourceWarning)


@contextmanager
def descriptors(out: int, errors: int) -> Iterator[None]:
    """Has standard output and standard error go into these files, as a shell's redirections do."""
    kept = [os.dup(number) for number in (1, 2)]
    try:
        os.dup2(out, 1)
        os.dup2(errors, 2)
        yield
    finally:
        for number, before in enumerate(kept, 1):
            os.dup2(before, number)
            os.close(before)


@contextmanager
def called(words: list[str]) -> Iterator[None]:
    """The words of a call, and the warnings that Python shows by itself, which the tests take for errors."""
    before = sys.argv
    sys.argv = [str(Path(sys.modules["clearway"].__path__[0]) / "__main__.py"), *words]
    try:
        with warnings.catch_warnings():
            warnings.resetwarnings()
            for category in HIDDEN:
                warnings.simplefilter("ignore", category)
            yield
    finally:
        sys.argv = before


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command with these words in this folder, as `clearway.start` does once it has loaded it."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        with chdir(folder), called(words), descriptors(out.fileno(), errors.fileno()), standard() as streams:
            code = streams.checked(guarded())
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(words, code, *texts)
