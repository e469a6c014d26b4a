"""`tools/methods` finds the types with more methods than a type may have, and only those."""

import subprocess
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "methods"


def crate(tmp_path: Path, **files: str) -> tuple[int, str]:
    """Runs the tool on a crate; two underscores in a name stand for a slash."""
    for name, text in files.items():
        path = tmp_path / "crates/toy/src" / f"{name.replace('__', '/')}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([TOOL, tmp_path], capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def block(of: str, count: int, first: int = 0) -> str:
    """An `impl` block with so many methods."""
    functions = [f"pub fn f{index}(&self) {{ if true {{ fn inner() {{}} }} }}" for index in range(first, first + count)]
    return f"{of} {{ {' '.join(functions)} }}\n"


def test_no_type_of_this_repository_has_too_many_methods() -> None:
    done = subprocess.run([TOOL], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_type_may_have_25_methods_and_no_more_in_all_of_its_blocks_and_files(tmp_path: Path) -> None:
    most = {
        "lib": "mod a; mod b;",
        "a": "pub struct Wide<'a, T>(&'a T);" + block("impl<'a, T: Fn() -> u8> Wide<'a, T>", 20),
    }
    uses = "use crate::a::Wide;"
    assert crate(tmp_path, b=uses + block("impl Wide<'_, u8>", 5, 20), **most) == (0, "")
    code, out = crate(tmp_path, b=uses + block("impl Wide<'_, u8>", 6, 20), **most)
    assert code == 1
    assert "crates/toy/src/a.rs: Wide has 26 methods, and a type may have 25" in out


def test_methods_of_traits_types_in_signatures_and_tests_do_not_count(tmp_path: Path) -> None:
    text = (
        "pub struct S;"
        + block("impl S", 25)
        + block("impl Iterator for S", 30)
        + block("impl<F> Call<F> for S where F: for<'a> Fn(&'a u8)", 30)
        + block("fn each() -> impl Iterator<Item = S>", 30)
        + "#[cfg(test)]\n"
        + block("impl S", 5)
        + "#[cfg(test)] mod tests;"
    )
    assert crate(tmp_path, lib=text, tests="use super::S;" + block("impl S", 5)) == (0, "")


def test_types_of_one_name_in_two_files_are_two_types(tmp_path: Path) -> None:
    text = "struct Same;" + block("impl Same", 20)
    assert crate(tmp_path, lib="mod a; mod b;", a=text, b=text) == (0, "")
