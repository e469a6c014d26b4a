"""`tools/circles` finds the files that import each other in a circle or against the layers, and only those."""

import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "circles"


def run(tmp_path: Path, files: dict[str, str]) -> tuple[int, str]:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([TOOL, tmp_path], capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def crate(tmp_path: Path, **files: str) -> tuple[int, str]:
    """Runs the tool on a crate; two underscores in a name stand for a slash."""
    return run(tmp_path, {f"crates/toy/src/{name.replace('__', '/')}.rs": text for name, text in files.items()})


@pytest.mark.slow
def test_no_files_of_this_repository_import_each_other_in_a_circle() -> None:
    done = subprocess.run([TOOL], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_circle_is_listed_file_by_file_with_the_names_that_tie_it(tmp_path: Path) -> None:
    code, out = crate(
        tmp_path,
        lib="mod a; mod b;",
        a="use crate::b::{B as Other, C};",
        b="struct B; struct C; struct D(super::a::A);",
    )
    assert code == 1
    assert "crates/toy: a circle of 2 files" in out
    assert "crates/toy/src/a.rs\n    uses B, C of crates/toy/src/b.rs" in out
    assert "crates/toy/src/b.rs\n    uses A of crates/toy/src/a.rs" in out


def test_a_name_that_a_facade_reexports_leads_to_the_file_that_defines_it(tmp_path: Path) -> None:
    files = {
        "lib": "mod a; mod b; pub use a::A; pub use b::*;",
        "a": "pub struct A;",
        "b": "use crate::A; pub struct B;",
    }
    assert crate(tmp_path, **files) == (0, "")
    code, out = crate(tmp_path, **files | {"a": "pub struct A(crate::B);"})
    assert code == 1
    assert "lib.rs" not in out
    assert "uses B of crates/toy/src/b.rs" in out


def test_a_parent_that_uses_what_its_child_defines_and_the_reverse_is_a_circle(tmp_path: Path) -> None:
    child = "use super::*; pub struct Child(Parent);"
    assert crate(tmp_path, lib="mod p;", p__mod="pub mod c; pub use c::Child; struct Parent;", p__c=child) == (0, "")
    files = {"p__mod": "pub mod c; pub use c::Child; struct Parent; fn f(_: Child) {}"}
    code, out = crate(tmp_path, lib="mod p;", p__c=child, **files)
    assert code == 1
    assert "uses Parent of crates/toy/src/p/mod.rs" in out
    assert "uses Child of" in out


def test_comments_texts_and_tests_are_no_code(tmp_path: Path) -> None:
    a = """
        //! [`crate::b::B`]
        pub struct A<'a>(&'a str);
        const TEXT: &str = "crate::b::B";
        #[cfg(test)]
        mod tests;
        #[cfg(test)]
        mod more { use crate::b::B; fn f() {} }
        #[cfg(test)]
        use crate::b::B;
    """
    files = {"b": "use crate::a::A;", "a__tests": "use crate::b::B;"}
    assert crate(tmp_path, lib="mod a; mod b;", a=a, **files) == (0, "")


def test_a_macro_leads_to_the_file_that_declares_it_and_declares_names_itself(tmp_path: Path) -> None:
    files = {
        "lib": "#[macro_use] mod m; mod a; mod b;",
        "m": "macro_rules! table { () => {}; } type T = crate::a::A;",
        "a": "table! { A { x: u8 } }",
    }
    code, out = crate(tmp_path, b="", **files)
    assert code == 1
    assert "uses table! of crates/toy/src/m.rs" in out
    assert "uses A of crates/toy/src/a.rs" in out


def package(tmp_path: Path, **files: str) -> tuple[int, str]:
    return run(tmp_path, {f"python/clearway/{name}.py": text for name, text in files.items()})


def test_imports_in_functions_and_for_type_checkers_count(tmp_path: Path) -> None:
    a = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from clearway.b import B\n"
    code, out = package(tmp_path, __init__="", a=a, b="def f():\n    from . import a\n")
    assert code == 1
    assert "python/clearway/a.py\n    uses B of python/clearway/b.py" in out
    assert "python/clearway/b.py\n    uses a of python/clearway/a.py" in out


@pytest.mark.parametrize(
    "load",
    [
        "def f():\n    return importlib.import_module('clearway.c').x\n",
        "def f():\n    return import_module('.c', __package__)\n",
        "def f():\n    return __import__('clearway.c')\n",
        "COMMANDS = {'c': ('clearway.c:x', 'The command c.')}\n",
    ],
)
def test_modules_that_are_loaded_by_a_literal_name_count(tmp_path: Path, load: str) -> None:
    code, out = package(tmp_path, __init__="", b=load, c="from .b import f\n")
    assert code == 1
    assert "python/clearway/b.py\n    uses " in out
    assert "python/clearway/c.py\n    uses f of python/clearway/b.py" in out


def test_a_package_that_only_reexports_is_in_no_circle_and_its_extension_module_is_not_the_package(
    tmp_path: Path,
) -> None:
    files = {"a": "A = 1\n", "b": "from clearway import A\n", "c": "from .b import x\n"}
    assert package(tmp_path, __init__="from .a import A\nfrom .b import x\n", **files) == (0, "")
    stub = tmp_path / "python/clearway/_clearway.pyi"
    stub.write_text("E: int\n")
    uses = {"b": "from clearway import _clearway, E\n"}
    assert package(tmp_path, __init__="from ._clearway import E\nfrom .b import x\nB = x\n", **files | uses) == (0, "")
    code, out = package(tmp_path, __init__="from .b import x\nB = x\n", **files | {"b": "from clearway import B\n"})
    assert code == 1
    assert "a circle of 2 files" in out


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("cost", "from clearway.testbed import shell\n", "core must not import testbed"),
        ("cost", "def f():\n    importlib.import_module('clearway.testbed.shell')\n", "core must not import testbed"),
        ("__init__", "from clearway.testbed.shell import lacking\n", "core must not import testbed"),
        ("__init__", "LATER = {'lacking': 'clearway.testbed.shell'}\n", "core must not import testbed"),
        ("report/page", "from ..reproduce.stats import Estimate\n", "core must not import papers"),
        ("report/page", "from clearway.command import cli\n", "core must not import command"),
        ("testbed/page", "from clearway.reproduce.stats import Estimate\n", "testbed must not import papers"),
        ("parity/page", "from clearway.testbed import shell\n", "papers must not import testbed"),
        ("reproduce/page", "from clearway.command.listing import list_\n", "papers must not import command"),
    ],
)
def test_the_core_imports_no_other_part_and_these_not_each_other(
    tmp_path: Path, file: str, text: str, why: str
) -> None:
    files = {
        "__init__": "",
        "cost": "",
        "start": "from clearway.command import cli\n",
        "command/__init__": "COMMANDS = {'testbed': 'clearway.command.listing:list_'}\ncli = 1\n",
        "command/listing": "from clearway import cost\nfrom clearway.reproduce import stats\nlist_ = 1\n",
        "parity/page": "from clearway.reproduce import stats\n",
        "report/page": "from clearway import cost\n",
        "reproduce/page": "from clearway.report import page\n",
        "reproduce/stats": "",
        "testbed/page": "from clearway.report import page\n",
        "testbed/shell": "from clearway import cost\nlacking = 1\n",
    }
    assert package(tmp_path, **files) == (0, "")
    code, out = package(tmp_path, **files | {file: text})
    assert code == 1
    assert f"python/clearway: {why}\n  python/clearway/{file}.py\n    uses " in out
