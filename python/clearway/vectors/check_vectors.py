#!/usr/bin/env python3
"""Checks NSCC, RCCC, REPS or a whole sender of yours against test vectors of Clearway. It needs Python 3.9 alone.

    python3 check_vectors.py nscc.specification.json -- ./adapter
    python3 check_vectors.py *.json --case quick-adapt --plain -- ./adapter --verbose

The adapter is a program around the implementation. It reads lines from its standard input, and answers each with a line
on its standard output, which it must not hold back: flush it. A line is a JSON object. The first line of a case begins
anew, each other one is an input, and the answer is what can be seen then:

    {"kind": "initial", "part": "window", "mtu_bytes": 4150, ...}
    {"at_ps": 15000000, "kind": "ack", "new_bytes": 16600, ...}

    {"cwnd_bytes": 102174, "max_cwnd_bytes": 262926, "base_rtt_ps": 14022720}

vectors.schema.json says what each key means. An answer may have more keys than the vector, not fewer. With --plain a
line has words of the form key=value, for adapters in C or SystemVerilog: true and false are 1 and 0, null is `none`,
and lists have commas between their values.

It exits with 0 if all steps agree, with 1 if one differs, and with 2 if it could not be tried.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

#: The format of files that this program knows.
FORMAT = "clearway-vectors/1"
#: The inputs before the step that differs which are printed without --all-inputs.
SHOWN = 12

Line = dict[str, Any]


class SilenceError(Exception):
    """The adapter gave no answer."""


class Adapter:
    """A program that is asked line by line."""

    def __init__(self, command: list[str], plain: bool, wait: float) -> None:
        self.plain, self.wait = plain, wait
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", bufsize=1
        )
        self.answers: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout
        for text in self.process.stdout:
            self.answers.put(text)
        self.answers.put(None)

    def ask(self, line: Line) -> Line:
        """Hands over a line. Returns the answer."""
        assert self.process.stdin
        try:
            self.process.stdin.write((plain_text(line) if self.plain else json.dumps(line)) + "\n")
            self.process.stdin.flush()
            text = self.answers.get(timeout=self.wait)
        except (BrokenPipeError, OSError):
            text = None
        except queue.Empty:
            raise SilenceError(
                f"the adapter gave no answer within {self.wait:g} s; does it flush its output?"
            ) from None
        if text is None:
            raise SilenceError(f"the adapter ended, with exit code {self.process.wait()}")
        try:
            answer = read_plain(text) if self.plain else json.loads(text)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            form = "words of the form key=value" if self.plain else "a JSON object"
            raise SilenceError(f"the adapter answered {text.strip()!r}, where {form} belongs")
        return answer

    def end(self) -> None:
        """Ends the program."""
        if self.process.stdin:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()


def plain_text(line: Line) -> str:
    """A line as words of the form key=value."""

    def word(value: Any) -> str:
        if value is None:
            return "none"
        if isinstance(value, list):
            return ",".join(map(word, value))
        return str(int(value)) if isinstance(value, bool) else str(value)

    return " ".join(f"{key}={word(value)}" for key, value in line.items())


def read_plain(text: str) -> Line:
    """A line of words of the form key=value."""
    pairs = [word.split("=", 1) for word in text.split()]
    return {key: None if value == "none" else float(value) if "." in value else int(value) for key, value in pairs}


def differences(expected: Line, answer: Line, tolerances: dict[str, int]) -> list[str]:
    """The keys of an answer that are not as they should be, with both values."""

    def is_same(key: str, value: Any) -> bool:
        if key not in answer:
            return False
        given = answer[key]
        if value is None or given is None:
            return value is given
        if not isinstance(given, (int, float)):
            return bool(given == value)
        return bool(abs(given - value) <= tolerances.get(key, 0))

    return [
        f"{key}: expected {json.dumps(value)}, answered {json.dumps(answer[key]) if key in answer else 'nothing'}"
        for key, value in expected.items()
        if not is_same(key, value)
    ]


def lines(case: Line) -> Iterator[tuple[Line, Line, Line | None]]:
    """The lines of a case, with the outputs that belong to them and what Clearway remembers then."""
    yield case["initial"], case["output"], None
    for step in case["steps"]:
        yield {"at_ps": step["at_ps"], **step["input"]}, step["output"], step.get("state")


def check_case(case: Line, adapter: Adapter, tolerances: dict[str, int], shown: int) -> list[str]:
    """The report of the first step that differs; it is empty if none does."""
    inputs = []
    for number, (line, expected, state) in enumerate(lines(case)):
        inputs.append(line)
        try:
            found = differences(expected, adapter.ask(line), tolerances)
        except SilenceError as silence:
            raise SilenceError(f"case {case['name']}, step {number} of {len(case['steps'])}: {silence}") from None
        if not found:
            continue
        report = [f"case {case['name']}, step {number} of {len(case['steps'])} differs: {case['about']}"]
        report += [f"  {one}" for one in found]
        if state is not None:
            report.append(f"  Clearway remembers then: {json.dumps(state)}")
        cut = inputs[:1] + inputs[max(1, len(inputs) - shown) :]
        report.append("  inputs up to there:" if len(cut) == len(inputs) else f"  the first and last {shown} inputs:")
        return report + [f"    {json.dumps(one)}" for one in cut]
    return []


def check_file(path: str, adapter: Adapter, options: argparse.Namespace) -> tuple[int, int]:
    """Tries the cases of a file. Returns how many agreed, and how many there were."""
    file = read(path)
    chosen = [case for case in file["cases"] if is_chosen(case["name"], options.case)]
    tolerances = {**file["tolerances"], **options.tolerance}
    shown = sys.maxsize if options.all_inputs else SHOWN
    agreed = 0
    for case in chosen:
        report = check_case(case, adapter, tolerances, shown)
        if not report:
            agreed += 1
        elif options.first_reported and not options.verbose:
            print(f"{path}: {report[0]}")
        else:
            options.first_reported = True
            print(f"{path}: " + "\n".join(report))
    print(f"{path}: {agreed} of {len(chosen)} cases agree")
    return agreed, len(chosen)


def is_chosen(name: str, patterns: list[str] | None) -> bool:
    """True if a case is to be tried."""
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def read(path: str) -> Line:
    """Reads a file of vectors."""
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        refuse(f"{path}: can't be read: {error.strerror}")
    except ValueError as error:
        refuse(f"{path}: is no JSON: {error}")
    if not isinstance(content, dict) or content.get("schema") != FORMAT:
        refuse(f'{path}: is no file of test vectors, whose key "schema" has the value "{FORMAT}"')
    return content


def refuse(what: str) -> NoReturn:
    """Ends the program because it can't be tried."""
    print(f"check_vectors.py: {what}", file=sys.stderr)
    raise SystemExit(2)


def tolerance(text: str) -> tuple[str, int]:
    """A tolerance as written: cwnd_bytes=4."""
    name, _, most = text.partition("=")
    if not name or not most.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: write a key and a whole number, such as cwnd_bytes=4")
    return name, int(most)


def read_options(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the command of the adapter behind the word `--`."""
    about, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="check_vectors.py",
        usage="check_vectors.py FILE... [options] -- ADAPTER [words]",
        description=about,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="vectors, as `clearway vectors` writes them")
    parser.add_argument(
        "--case", action="append", metavar="NAME", help="only these cases, such as drawn-*; may be repeated"
    )
    parser.add_argument(
        "--tolerance", action="append", default=[], type=tolerance, metavar="KEY=N", help="the most that KEY may be off"
    )
    parser.add_argument("--plain", action="store_true", help="speak in words of the form key=value, not in JSON")
    parser.add_argument("--wait", type=float, default=10.0, metavar="S", help="seconds to wait for an answer (10)")
    parser.add_argument("--all-inputs", action="store_true", help="print all inputs before a step that differs")
    parser.add_argument(
        "--verbose", action="store_true", help="print inputs of all cases that differ, not of the first"
    )
    at = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:at])
    options.tolerance = dict(options.tolerance)
    options.first_reported = False
    if not words[at + 1 :]:
        parser.error("name the adapter behind the word --")
    return options, words[at + 1 :]


def main(words: list[str]) -> int:
    """Tries an adapter. Returns the exit code."""
    options, command = read_options(words)
    known = sorted({case["name"] for path in options.files for case in read(path)["cases"]})
    for name in options.case or []:
        if not any(is_chosen(one, [name]) for one in known):
            refuse(f"--case {name}: no file has it; the cases are {', '.join(known)}")
    try:
        adapter = Adapter(command, options.plain, options.wait)
    except OSError as error:
        refuse(f"{command[0]}: can't be run: {error.strerror}")
    counts = []
    try:
        counts = [check_file(path, adapter, options) for path in options.files]
    except SilenceError as silence:
        print(silence)
        return 1
    except BrokenPipeError:
        # The reader has seen enough, as `head` does.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        return 1
    finally:
        adapter.end()
    return 0 if all(agreed == tried for agreed, tried in counts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
