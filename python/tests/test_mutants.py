"""`make mutants SHARD=n`: mutants are drawn by their words, applied where cargo-mutants names them, and counted."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY

FOLDER = REPOSITORY / "tools" / "mutants"
FUNCTION = "fn larger(a: u8, b: u8) -> bool {\n    let é = a > b;\n    é\n}\n"
CODE = FUNCTION + "\n" + FUNCTION.replace("larger", "later")


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules of the tool can be imported, under their names."""
    monkeypatch.syspath_prepend(FOLDER)
    yield
    for name in ("drawing", "records", "trials", "evidence", "weaving", "mutate"):
        sys.modules.pop(name, None)


def entry(line: int, column: int, end: tuple[int, int], replacement: str, change: str) -> dict[str, Any]:
    """A mutant as cargo-mutants lists it."""
    return {
        "package": "clearway-sim",
        "file": "larger.rs",
        "name": f"larger.rs:{line}:{column}: {change}",
        "span": {"start": {"line": line, "column": column}, "end": {"line": end[0], "column": end[1]}},
        "replacement": replacement,
        "function": {"span": {"start": {"line": 1, "column": 1}, "end": {"line": 4, "column": 2}}}
        if line < 5
        else None,
    }


def mutants(root: Path, *entries: dict[str, Any], code: str = CODE) -> list[Any]:
    (root / "larger.rs").write_text(code, "utf-8")
    return list(importlib.import_module("drawing").mutants_of(entries, root))


GREATER = entry(2, 15, (2, 16), ">=", "replace > with >= in larger")
LATER = entry(7, 15, (7, 16), ">=", "replace > with >= in larger")
BODY = entry(2, 5, (3, 6), "true", "replace larger -> bool with true")


def test_a_mutant_changes_the_characters_that_it_names_and_no_others(tmp_path: Path) -> None:
    greater, body = mutants(tmp_path, GREATER, BODY)[::-1]
    assert greater.applied(CODE) == CODE.replace("a > b", "a >= b", 1)
    assert body.applied(CODE) == CODE.replace("let é = a > b;\n    é", "true", 1)


def test_mutants_of_the_same_words_are_told_apart_and_keep_their_shard_when_lines_move(tmp_path: Path) -> None:
    first, second = mutants(tmp_path, LATER, GREATER)
    assert (first.twin, second.twin) == (0, 1)
    assert first.key != second.key
    assert first.code == "let é = a > b;"
    moved = [entry(line + 1, 15, (line + 1, 16), ">=", "replace > with >= in larger") for line in (2, 7)]
    again = mutants(tmp_path, *moved, code="// A new line.\n" + CODE)
    assert [mutant.key for mutant in again] == [first.key, second.key]
    assert [mutant.rank for mutant in again] == [first.rank, second.rank]


def test_shards_have_each_mutant_once_and_some_fifty_of_seven_thousand() -> None:
    drawing = importlib.import_module("drawing")
    place = drawing.Place(1, 1)
    every = [drawing.Mutant("p", "a.rs", f"change {number}", "", 0, place, place, "") for number in range(7250)]
    shards = [drawing.drawn(every, shard) for shard in range(drawing.SHARDS)]
    assert Counter(mutant.key for shard in shards for mutant in shard) == Counter(mutant.key for mutant in every)
    sizes = [len(shard) for shard in shards]
    assert sum(sizes) / len(sizes) == 50
    # Four deviations of a binomial number around fifty.
    assert all(22 <= size <= 78 for size in sizes)


@pytest.mark.parametrize("shard", [-1, 145])
def test_a_shard_that_does_not_exist_is_refused_with_the_range(shard: int) -> None:
    drawing = importlib.import_module("drawing")
    with pytest.raises(drawing.ProblemError, match=f"SHARD={shard}: must be a number from 0 to 144"):
        drawing.drawn([], shard)


FAIL = "        FAIL [   0.018s] (12/30) clearway-proto tcp::cubic::tests::the_window_grows_as_a_cubic\n"
STOPPED = "     TIMEOUT [  90.007s] (13/30) clearway-sim::golden golden\n"
SLOW = "        SLOW [> 60.000s] (───) clearway-sim::golden golden\n"
SUMMARY = "     Summary [ 131.162s] 92/289 tests run: 90 passed, 2 timed out, 0 skipped\n"
ABORTED = "     SIGABRT [   0.104s] ( 1/30) clearway-proto ring::tests::a_ring_has_an_end\n"


@pytest.mark.parametrize(
    ("code", "errors", "what", "by"),
    [
        (0, SLOW, "survived", None),
        (101, "error: could not compile\n", "unviable", None),
        (100, FAIL + STOPPED, "killed", "clearway-proto tcp::cubic::tests::the_window_grows_as_a_cubic"),
        (100, SLOW + STOPPED + FAIL, "killed", "clearway-proto tcp::cubic::tests::the_window_grows_as_a_cubic"),
        (100, SLOW + STOPPED + SUMMARY, "timeout", "clearway-sim::golden golden"),
        (100, ABORTED, "killed", "clearway-proto ring::tests::a_ring_has_an_end"),
    ],
)
def test_what_nextest_says_decides_the_outcome(code: int, errors: str, what: str, by: str | None) -> None:
    outcome = importlib.import_module("trials").judged(code, errors, 1.0)
    assert (outcome.what, outcome.by) == (what, by)


def test_an_exit_code_that_says_nothing_of_tests_is_an_error() -> None:
    trials = importlib.import_module("trials")
    with pytest.raises(importlib.import_module("drawing").ProblemError, match="exit code 96: no such profile"):
        trials.judged(96, "no such profile", 1.0)


def test_mutants_that_are_woven_together_compile_and_the_environment_chooses_one(tmp_path: Path) -> None:
    weaving = importlib.import_module("weaving")
    body, greater = mutants(tmp_path, GREATER, BODY)
    file = weaving.woven(CODE, {1: greater, 2: body})
    prints = 'fn main() { println!("{} {}", larger(1, 1), larger(2, 1) && !later(1, 1)); }'
    (tmp_path / "main.rs").write_text(file.text + weaving.SELECTOR + prints, "utf-8")
    subprocess.run(["rustc", "--edition", "2024", "--cap-lints", "allow", "main.rs"], cwd=tmp_path, check=True)
    said = {}
    for number in ("0", "1", "2", "3"):
        run = subprocess.run(
            [tmp_path / "main"],
            env={**os.environ, weaving.VARIABLE: number},
            capture_output=True,
            text=True,
            check=True,
        )
        said[number] = run.stdout.strip()
    assert said == {"0": "false true", "1": "true true", "2": "true true", "3": "false true"}
    lines = file.text.split("\n")
    places = {number: lines.index(text) + 1 for number, text in ((1, "    let é = a >= b;"), (2, "    true"))}
    for which, line in places.items():
        assert file.number_at(line) == which
        assert weaving.broken(f"larger.rs:{line}:5: error[E0308]: mismatched types\n", {"larger.rs": file}) == {which}
    assert file.number_at(1) is None
    assert file.number_at(len(lines)) is None


@pytest.mark.parametrize(
    "function",
    [
        "const fn f() -> u8 { 1 }",
        "fn f() -> impl Iterator<Item = u8> { [1].into_iter() }",
        "fn f() -> Option<impl Fn() -> u8> { Some(|| 1) }",
    ],
)
def test_a_function_of_the_compiler_or_without_a_named_result_is_tried_alone(tmp_path: Path, function: str) -> None:
    at = function.rindex("1") + 1
    change = entry(1, at, (1, at + 1), "2", "replace 1 with 2 in f")
    change["function"]["span"]["end"] = {"line": 1, "column": len(function) + 1}
    (mutant,) = mutants(tmp_path, change, code=function)
    assert importlib.import_module("weaving").divided({"larger.rs": function}, [mutant]) == ([], [mutant])


def test_braces_in_texts_comments_and_generics_are_not_taken_for_the_body(tmp_path: Path) -> None:
    code = "fn f<'a>(x: R<{ 1 + 1 }>) -> &'a str { // }\n    let y = ('}', \"{\");\n    x.of(y, 1)\n}\n"
    change = entry(3, 13, (3, 14), "2", "replace 1 with 2 in f")
    (mutant,) = mutants(tmp_path, change, code=code)
    first, last = importlib.import_module("weaving").body_of(code, mutant)
    assert code[first:last] == code[code.index("{ // }") : -1]


def copied(tmp_path: Path) -> Any:
    """A repository of one file and two crates, and the trials of its mutants with stand-ins for nextest and cargo."""
    root = tmp_path / "root"
    for crate in ("proto", "sim"):
        (root / "crates" / crate / "src").mkdir(parents=True)
        (root / "crates" / crate / "src" / "lib.rs").write_text("")
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / ".gitignore").write_text("target\n")
    (root / "larger.rs").write_text(CODE, "utf-8")
    nextest, cargo = tmp_path / "nextest", tmp_path / "cargo"
    # Its tests of the second stage notice the first mutant, or a comparison that was changed for good.
    nextest.write_text(
        '#!/bin/sh\necho $CLEARWAY_MUTANT. >> ../../../../calls\ncase "$*" in *golden*) ;; *) exit 0 ;; esac\n'
        "[ \"$CLEARWAY_MUTANT\" = 1 ] || { grep -q '>=' larger.rs && ! grep -q woven larger.rs; } || exit 0\n"
        f"printf '{FAIL.replace(chr(10), '')}\\n' >&2\nexit 100\n"
    )
    # A function without a result can't be compiled.
    cargo.write_text(
        "#!/bin/sh\nline=$(grep -n '^  *()$' larger.rs | cut -d: -f1)\n[ -z \"$line\" ] && exit 0\n"
        'echo "larger.rs:$line:9: error[E0308]: mismatched types" >&2\nexit 101\n'
    )
    nextest.chmod(0o755)
    cargo.chmod(0o755)
    return importlib.import_module("trials").Trials(root, nextest, cargo=str(cargo))


NOTHING = entry(2, 5, (3, 6), "()", "replace larger -> bool with ()")


def test_mutants_are_tried_together_where_they_can_be_and_the_copy_is_as_it_was(tmp_path: Path) -> None:
    trials = copied(tmp_path)
    trials.prepare()
    rounds = [importlib.import_module("trials").Round(importlib.import_module("trials").STAGES)]
    named = {mutant.replacement: mutant for mutant in mutants(tmp_path, GREATER, BODY, NOTHING)}
    order = [named[">="], named["true"], named["()"]]
    found = {mutant.replacement: outcome for mutant, _, outcome in trials.each(order, rounds)}
    assert {key: outcome.what for key, outcome in found.items()} == {
        ">=": "killed",
        "true": "survived",
        "()": "unviable",
    }
    assert found[">="].by == "clearway-proto tcp::cubic::tests::the_window_grows_as_a_cubic"
    # Each of the two stages without a mutant, with the first and with the second.
    assert (tmp_path / "calls").read_text().split() == [".", "1.", ".", "1.", "2.", "2."]
    assert (trials.tree / "larger.rs").read_text("utf-8") == CODE
    assert (trials.tree / "crates/sim/src/lib.rs").read_text() == ""
    assert (trials.root / "larger.rs").read_text("utf-8") == CODE


def test_a_second_round_tries_what_survives_the_first_in_the_same_build(tmp_path: Path) -> None:
    trials = copied(tmp_path)
    trials.prepare()
    module = importlib.import_module("trials")
    named = {mutant.replacement: mutant for mutant in mutants(tmp_path, GREATER, BODY, NOTHING)}
    survivors: list[Any] = []
    fast = module.Round(module.STAGES)
    slow = module.Round(dict.fromkeys(module.STAGES, module.slow(["parallel"])), lambda mutant: mutant in survivors)
    tried = []
    for mutant, one, outcome in trials.each([named[">="], named["true"], named["()"]], [fast, slow]):
        if one is fast and outcome.what == "survived":
            survivors.append(mutant)
        tried.append((mutant.replacement, one is fast, outcome.what))
    # The first is killed, and what does not compile is told of once.
    assert tried == [
        (">=", True, "killed"),
        ("true", True, "survived"),
        ("()", True, "unviable"),
        ("true", False, "survived"),
    ]
    # As above, and then the slow tests without a mutant and with the survivor.
    assert (tmp_path / "calls").read_text().split() == [".", "1.", ".", "1.", "2.", "2.", ".", "2."]


def test_a_survivor_awaits_the_slow_tests_until_all_of_them_were_tried() -> None:
    (killed, survived), late = shard("killed", "survived").trials, shard("survived", m0="killed").trials[0]
    assert (killed.awaits_slow, survived.awaits_slow, late.awaits_slow) == (False, True, False)
    mutate = importlib.import_module("mutate")
    record, outcome = shard("survived"), importlib.import_module("trials").Outcome("survived", None, 1.0)
    (trial,) = record.trials
    mutate.note_slow(trial, record, outcome, ["parallel"])
    assert trial.awaits_slow, "only one file of them was tried"
    mutate.note_slow(trial, record, outcome, [])
    assert (trial.thorough, trial.awaits_slow, trial.later) == (True, False, None)


def test_a_mutant_outside_of_functions_is_tried_alone(tmp_path: Path) -> None:
    trials = copied(tmp_path)
    trials.prepare()
    rounds = [importlib.import_module("trials").Round(importlib.import_module("trials").STAGES)]
    (later,) = mutants(tmp_path, LATER)
    ((mutant, _, outcome),) = trials.each([later], rounds)
    assert (mutant, outcome.what) == (later, "killed")
    assert (tmp_path / "calls").read_text().split() == [".", ".", ".", "."]
    assert (trials.tree / "larger.rs").read_text("utf-8") == CODE


def test_the_copy_follows_the_working_tree_and_writes_only_what_changed(tmp_path: Path) -> None:
    trials = copied(tmp_path)
    (trials.root / "old.rs").write_text("")
    trials.prepare()
    before, content = (trials.tree / "larger.rs").stat().st_mtime_ns, trials.content
    (trials.root / "old.rs").unlink()
    (trials.root / "new.rs").write_text("// new")
    trials.prepare()
    assert {path.name for path in trials.tree.iterdir()} == {".gitignore", "crates", "larger.rs", "new.rs"}
    assert (trials.tree / "larger.rs").stat().st_mtime_ns == before
    assert trials.content != content


def test_tests_that_fail_without_a_mutant_are_an_error(tmp_path: Path) -> None:
    trials = copied(tmp_path)
    (trials.root / "larger.rs").write_text(CODE.replace(">", ">="), "utf-8")
    trials.prepare()
    rounds = [importlib.import_module("trials").Round(importlib.import_module("trials").STAGES)]
    later = entry(7, 15, (7, 17), ">", "replace >= with > in later")
    with pytest.raises(importlib.import_module("drawing").ProblemError, match="golden results and conformance fail"):
        list(trials.each(mutants(tmp_path, later, code=CODE.replace(">", ">=")), rounds))


def test_a_test_was_there_if_the_commit_has_its_name_and_not_if_it_has_a_longer_one(tmp_path: Path) -> None:
    has_test = importlib.import_module("trials").has_test
    (tmp_path / "crates").mkdir()
    (tmp_path / "crates" / "a.rs").write_text("fn ends_meet() {}\n")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "crates"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "a"], check=True)
    assert has_test(tmp_path, "HEAD", "clearway-sim::parallel ends_meet")
    assert has_test(tmp_path, "HEAD", "clearway-proto tcp::tests::ends_meet")
    assert not has_test(tmp_path, "HEAD", "clearway-proto tcp::tests::ends")


def test_wilsons_interval_is_that_of_the_textbook() -> None:
    wilson = importlib.import_module("records").wilson
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20 and 1 of 29.
    for hits, of, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        assert wilson(hits, of) == pytest.approx((low, high), abs=5e-5)
    assert wilson(0, 0) == (0.0, 1.0)


def shard(*outcomes: str, **later: str) -> Any:
    """A record of mutants of one file with these outcomes.

    Later ones are named by the mutant's number behind `m`, or `old` if they are due to a test that was there before.
    """
    records = importlib.import_module("records")
    trials = [
        records.Trial(
            "clearway-proto", "crates/proto/src/a.rs", 7, f"replace {at}", f"code {at}", 0, outcome, f"by {at}", 2.0
        )
        for at, outcome in enumerate(outcomes)
    ]
    for name, outcome in later.items():
        is_old = name.startswith("old")
        by = "sim::parallel a_slow_test" if is_old else "proto a_new_test"
        trials[int(name.lstrip("mold"))].later = {"commit": "c", "outcome": outcome, "by": by, "is_old": is_old}
    return records.Shard(3, 7000, len(trials), "2026-11-27", "0123456789abcdef", "rustc 1.0.0", trials)


def test_the_page_shows_shares_by_the_tests_of_then_and_of_now_and_every_survivor_by_name() -> None:
    records, evidence = importlib.import_module("records"), importlib.import_module("evidence")
    known = {("crates/proto/src/a.rs", "replace 2", "code 2"): records.Verdict("both give the same order", "")}
    outcomes = ["killed"] * 2 + ["survived"] * 4 + ["timeout", "unviable"]
    page = evidence.render([shard(*outcomes, m3="killed", old5="killed")], known)
    equal = "| 57.1 % (25.0 to 84.2) | 50.0 % (18.8 to 81.2) |"
    assert f"| both | as drawn, fast tests | 8 | 2 | 1 | 4 | 1 | 1 {equal}" in page
    equal = "| 42.9 % (15.8 to 75.0) | 33.3 % (9.7 to 70.0) |"
    assert f"| both | as drawn, all tests | 8 | 3 | 1 | 3 | 1 | 1 {equal}" in page
    assert "| both | tests of now | 8 | 4 | 1 | 2 | 1 | 1 | 28.6 % (8.2 to 64.1) | 16.7 % (3.0 to 56.4) |" in page
    assert "| 1 | 3 | 2026-11-27 | `0123456789` | 8 of 8 | 2 | 1 | 4 | 1 | 0 |" in page
    assert "2 that some test could see were not tried with every slow test" in page.replace("\n", " ")
    assert "| `proto/src/a.rs` | `replace 2` | `code 2` | equivalent: both give the same order |" in page
    assert "| `proto/src/a.rs` | `replace 3` | `code 3` | killed by `proto a_new_test` |" in page
    assert "| `proto/src/a.rs` | `replace 4` | `code 4` | **survives**; not all slow tests were tried yet |" in page
    assert "| `proto/src/a.rs` | `replace 5` | `code 5` | killed by `sim::parallel a_slow_test` |" in page
    assert "| `proto/src/a.rs` | 8 | 2 | 1 | 4 | 1 | 2 |" in page
    assert "{" not in re.sub(r"`[^`]*`", "", page)


def test_the_page_says_whether_the_share_is_known_within_five_points() -> None:
    evidence = importlib.import_module("evidence")
    assert "more mutants must be tried" in evidence.render([shard(*["survived"] * 5, *["killed"] * 55)], {})
    assert "so that the share is known within 5 points" in evidence.render(
        [shard(*["survived"] * 10, *["killed"] * 140)], {}
    )


def test_each_draw_is_a_sample_of_its_own_and_the_newest_is_judged() -> None:
    evidence = importlib.import_module("evidence")
    old, new = shard(*["survived"] * 30, *["killed"] * 30), shard(*["survived"] * 3, *["killed"] * 147)
    new.draw, new.shard = 2, 8
    page = evidence.render([old, new], {}).replace("\n", " ")
    assert page.index("Draw 2: shards 8") < page.index("| both | as drawn, all tests | 150 | 147 |")
    assert page.index("| both | as drawn, all tests | 150 | 147 |") < page.index("Draw 1: shards 3")
    assert "| both | tests of now | 210 | 177 |" in page
    assert "is 5.0 points wide, so that the share is known within 5 points" in page


def test_a_record_is_read_as_it_was_written_and_a_broken_one_is_named(tmp_path: Path) -> None:
    records = importlib.import_module("records")
    file = tmp_path / "shard-3.json"
    records.write(shard("killed", "survived", m1="timeout"), file)
    assert records.read_all(tmp_path) == [shard("killed", "survived", m1="timeout")]
    file.write_text(json.dumps({"shard": 3}))
    with pytest.raises(importlib.import_module("drawing").ProblemError, match=r"shard-3.json: is no record of a shard"):
        records.read(file)


def test_a_verdict_without_a_mutant_is_refused_with_the_keys_that_it_must_have(tmp_path: Path) -> None:
    records = importlib.import_module("records")
    file = tmp_path / "judged.toml"
    file.write_text('[[survivor]]\nfile = "a.rs"\nreason = "none"\n')
    with pytest.raises(importlib.import_module("drawing").ProblemError, match="must have `file`, `change` and `code`"):
        records.verdicts(file)


def test_the_page_of_this_repository_is_that_of_its_records_and_every_verdict_is_of_a_survivor() -> None:
    records, evidence = importlib.import_module("records"), importlib.import_module("evidence")
    assert evidence.check()
    survivors = {
        (trial.file, trial.change, trial.code)
        for one in records.read_all(evidence.DATA)
        for trial in one.done
        if trial.outcome == "survived"
    }
    assert set(records.verdicts(evidence.JUDGED)) <= survivors
