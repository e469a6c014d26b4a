"""The command `clearway completion`, and what shells need beyond click's own completion.

Bash and zsh put a space after each completion, which is wrong after `switch.buffer=`, and bash takes `=` for the end of
a word. The classes here serve both.
"""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from clearway.command.names import Choice
from clearway.command.place import config_folder, data_folder, install

EXAMPLES = """\b
Examples:
  clearway completion bash --install
  eval "$(clearway completion bash)"                      now, in this shell alone
  clearway completion zsh >> ~/.zshrc
"""

BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' completion type value
    COMPREPLY=()
    for completion in $(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
            %(complete_var)s=bash_complete "$1"); do
        type=${completion%%%%,*} value=${completion#*,}
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            open) compopt -o nospace; COMPREPLY+=("$value") ;;
            *) COMPREPLY+=("$value") ;;
        esac
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


def is_open(value: str) -> bool:
    """True for what is not a whole word yet: a key before its value, a folder before its entries."""
    return value.endswith(("=", "/", ".", ","))


class Bash(BashComplete):
    """Completion in bash, which reads the line itself, since bash's words end at `=`."""

    source_template = BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the one that is to be completed."""
        line = os.environ["COMP_LINE"].encode()[: int(os.environ["COMP_POINT"])].decode(errors="ignore")
        words = split_arg_string(line)
        last = "" if not line or line[-1].isspace() else words.pop()
        # click takes `--set=swi` for the option and the value that is completed.
        value = last.partition("=")[2] if last.startswith("--") else last
        breaks = [mark for mark in "=:" if mark in os.environ.get("COMP_WORDBREAKS", "")]
        self.cut = max((value.rfind(mark) for mark in breaks), default=-1)
        return words[1:], last

    def format_completion(self, item: CompletionItem[str]) -> str:
        """The part of a completion that bash has not passed, and whether a space follows."""
        kind = "open" if item.type == "plain" and is_open(item.value) else item.type
        return f"{kind},{item.value[self.cut + 1 :]}"

    @staticmethod
    def _check_version() -> None:
        """Nothing: click would start a bash to ask for its version, and `complete -o nosort` fails loudly itself."""


class Zsh(ZshComplete):
    """Completion in zsh, without a space after what is not a whole word."""

    source_template = ZshComplete.source_template.replace(
        """        elif [[ "$type" == "dir" ]]; then""",
        """        elif [[ "$type" == "open" ]]; then
            compadd -S '' -- "$key"
        elif [[ "$type" == "dir" ]]; then""",
    )

    def format_completion(self, item: CompletionItem[str]) -> str:
        """A completion, and whether a space follows."""
        if item.type == "plain" and is_open(item.value):
            return f"open\n{item.value}\n_"
        return super().format_completion(item)


add_completion_class(Bash, "bash")
add_completion_class(Zsh, "zsh")

SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": FishComplete}


@click.command(epilog=EXAMPLES)
@click.argument("shell", type=Choice(list(SHELLS)))
@click.option("--install", "installs", is_flag=True, help="Write it to where new shells find it.")
@click.pass_context
def completion(context: click.Context, shell: str, installs: bool) -> None:
    """Print the script that completes commands, options, names, keys, figures and files in a shell."""
    script = SHELLS[shell](context.find_root().command, {}, "clearway", "_CLEARWAY_COMPLETE").source()
    if installs:
        install(script, *place(shell))
    else:
        click.echo(script, nl=not script.endswith("\n"))


def place(shell: str) -> tuple[Path, str]:
    """The file in which a shell looks for the completion of this command, and what else must be so."""
    if shell == "bash":
        folder = data_folder() / "bash-completion" / "completions"
        return folder / "clearway", "new shells complete clearway, where the package bash-completion is installed"
    if shell == "fish":
        return config_folder() / "fish" / "completions" / "clearway.fish", "new shells complete clearway"
    folder = data_folder() / "zsh" / "site-functions"
    return folder / "_clearway", f"new shells complete clearway once ~/.zshrc has, before compinit: fpath+=({folder})"
