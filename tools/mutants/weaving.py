"""Many mutants in one build: a function has all of its mutants beside it, and the environment chooses one.

Compiling takes most of the time of a trial. So the body of a function becomes

    { if crate::woven::is(7) { ...mutant 7... } else if crate::woven::is(8) { ...mutant 8... } else { ...the code... } }

and the tests run once for each number in `CLEARWAY_MUTANT`, without another build.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from drawing import Mutant, offset

#: The environment variable that names the mutant which is active.
VARIABLE = "CLEARWAY_MUTANT"
#: What is added to the root of a crate. The variable is read once; without it, no mutant is active.
SELECTOR = f"""
#[doc(hidden)]
#[allow(missing_docs, clippy::disallowed_methods)]
pub mod woven {{
    static ACTIVE: std::sync::LazyLock<u32> =
        std::sync::LazyLock::new(|| std::env::var("{VARIABLE}").map_or(0, |number| number.parse().unwrap()));

    #[inline]
    pub fn is(number: u32) -> bool {{
        *ACTIVE == number
    }}
}}
"""
#: Comments, texts and characters, in which braces are no braces; a lifetime is none of them.
IGNORED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""", flags=re.DOTALL
)


@dataclass
class Woven:
    """A file with its mutants in it."""

    text: str
    #: First and last line of each mutant's body, from 1, in the order of lines, with its number.
    bodies: list[tuple[int, int, int]] = field(default_factory=list)

    def number_at(self, line: int) -> int | None:
        """The mutant whose body has a line, if one has."""
        at = bisect_right(self.bodies, (line, 1 << 60, 0)) - 1
        return self.bodies[at][2] if at >= 0 and line <= self.bodies[at][1] else None


def body_of(text: str, mutant: Mutant) -> tuple[int, int] | None:
    """Offsets of the body of the mutant's function, braces included; `None` if the mutant can't be woven into it.

    That is so for constants, for functions that are computed by the compiler, and for those whose result has no name.
    """
    if mutant.function is None:
        return None
    start, end = (offset(text, place) for place in mutant.function)
    code = IGNORED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text[start:end])
    depth, opened, body = 0, 0, None
    for brace in re.finditer(r"[{}]", code):
        if brace[0] == "{":
            opened = brace.start() if depth == 0 else opened
            depth += 1
        else:
            depth -= 1
            body = (opened, brace.end()) if depth == 0 else body
    if body is None:
        return None
    signature = code[: body[0]]
    if re.search(r"\bconst\s+(?:unsafe\s+)?fn\b|->[^;]*\bimpl\b", signature):
        return None
    first, last = start + body[0], start + body[1]
    is_within = first < offset(text, mutant.start) and offset(text, mutant.end) < last
    return (first, last) if is_within else None


def woven(text: str, mutants: Mapping[int, Mutant]) -> Woven:
    """A file with mutants by their numbers, all of which can be woven, into functions that don't lie in each other."""
    functions: dict[tuple[int, int], list[int]] = {}
    for number, mutant in mutants.items():
        body = body_of(text, mutant)
        assert body, mutant.key
        functions.setdefault(body, []).append(number)
    found, at, bodies = "", 0, []
    for (first, last), numbers in sorted(functions.items()):
        found += text[at:first] + "{"
        for number in numbers:
            mutant = mutants[number]
            start, end = (offset(text, place) for place in (mutant.start, mutant.end))
            changed = text[first:start] + mutant.replacement + text[end:last]
            found += f" if crate::woven::is({number})\n"
            line = found.count("\n") + 1
            bodies.append((line, line + changed.count("\n"), number))
            found += changed + "\nelse"
        found += "\n" + text[first:last] + "}"
        at = last
    return Woven(found + text[at:], bodies)


def divided(texts: Mapping[str, str], mutants: list[Mutant]) -> tuple[list[Mutant], list[Mutant]]:
    """The mutants that can be woven together, and those that must be tried one by one. `texts` has each file."""
    together: list[Mutant] = []
    alone: list[Mutant] = []
    taken: dict[str, set[tuple[int, int]]] = {}
    for mutant in mutants:
        body = body_of(texts[mutant.file], mutant)
        others = taken.setdefault(mutant.file, set())
        if body is None or any(body != other and body[0] < other[1] and other[0] < body[1] for other in others):
            alone.append(mutant)
        else:
            others.add(body)
            together.append(mutant)
    return together, alone


#: An error of the compiler in its short form: place, then words.
ERROR = re.compile(r"^(\S+?):(\d+):\d+: error", flags=re.MULTILINE)


def broken(errors: str, files: Mapping[str, Woven]) -> set[int]:
    """The numbers of the mutants in which the compiler found errors."""
    places = [(files[file], int(line)) for file, line in ERROR.findall(errors) if file in files]
    numbers = {file.number_at(line) for file, line in places}
    return {number for number in numbers if number is not None}
