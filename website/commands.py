"""Pages about the commands, made from what `--help` shows."""

import re
from typing import Any

import typer

from noiselimit.cli.main import app


def command_pages() -> dict[str, str]:
    """Page → Markdown, one for each command; those of `bound` share one."""
    root: Any = typer.main.get_command(app)
    return {f"commands/{name}.md": _page(name, root.commands[name]) for name in root.commands}


def _page(name: str, command: Any) -> str:
    parts = [f"# {name}", *_describe(f"noiselimit {name}", command)]
    for inner, each in getattr(command, "commands", {}).items():
        parts += [f"## {name} {inner}", *_describe(f"noiselimit {name} {inner}", each)]
    guide = re.search(r"noiselimit docs ([\w/-]+)", command.epilog or "")
    link = f"[The guide](../{guide[1]}.md) explains it. " if guide else ""
    parts.append(
        f"{link}[Command line](../command-line.md) has JSON keys, exit codes and configuration files."
    )
    return "\n\n".join(parts) + "\n"


def _describe(words: str, command: Any) -> list[str]:
    pieces = ["[OPTIONS]", *(each.metavar for each in command.params if each.param_type_name == "argument")]
    if hasattr(command, "commands"):
        pieces += ["COMMAND", "[ARGS]..."]
    rows = [row for each in command.params if (row := _row(each)) is not None]
    table = ["| option | meaning |", "|---|---|", *rows] if rows else []
    usage = f"```text\n{words} {' '.join(map(str, pieces))}\n```"
    return [usage, _escaped(re.sub(r"\n +", "\n", command.help)), "\n".join(table)]


def _row(parameter: Any) -> str | None:
    help = getattr(parameter, "help", None) or ""
    if getattr(parameter, "hidden", False):
        return None
    if parameter.required:
        help += " [required]"
    elif not isinstance(parameter.default, bool) and str(parameter.default) not in ("", "None", "()"):
        help += f" [default: {parameter.default}]"
    if parameter.param_type_name == "argument":
        name = f"`{parameter.metavar}`"
    else:
        takes = "" if parameter.is_flag else f" {parameter.metavar}"
        name = f"`{parameter.opts[0]}{takes}`"
    return f"| {name} | {_escaped(help)} |"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([|*<\[_])", r"\\\1", text)
