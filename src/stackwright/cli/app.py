"""The `stackwright` command: a table of commands, each imported only when it is called.

`stackwright --help` must answer at once, so the table holds each command's one-line help, and a command's module
(with the Kubernetes client, the models, rich …) is imported when the command itself runs. A module `cli/*/<name>.py`
has a function of the command's name (`-` is `_`), or, for a group of commands, a `typer.Typer` called `app`.
"""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from stackwright.cli import common
from stackwright.cli.common import add

EXIT_FAILURE, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130

# In the order of a day's work. A name whose file does not exist is not shown.
COMMANDS = {
    "up": "Start the local Kubernetes, the operator, and a cloud; resume, if it was interrupted.",
    "status": "Show the state of the cluster and of the clouds on it.",
    "plan": "Show what a manifest would change, without changing anything.",
    "values": "Print the values of a chart, also as OpenStack-Helm's own charts take them.",
    "apply": "Check manifests and apply them.",
    "wait": "Wait until a cloud is ready, telling what it waits for.",
    "logs": "Show the logs of a service.",
    "restart": "Restart the pods of a service by a rolling update.",
    "pause": "Let the operator change nothing of a cloud, a service or a server.",
    "resume": "End a pause.",
    "history": "Show the revisions of a cloud, or of its Helm releases.",
    "rollback": "Give a cloud the spec that it had before.",
    "delete": "Delete a cloud, after showing what goes with it.",
    "servers": "Show the servers that were made in OpenStacks, with what belongs to them.",
    "openrc": "Print what OpenStack clients on this machine need to use a cloud.",
    "shell": "Open a shell with the cloud's credentials and clients.",
    "images": "Build, list, and load container images.",
    "version": "Print the versions of the program, of the operator, and of the clouds.",
    "crds": "Print the CustomResourceDefinitions.",
    "smoke": "Check a cloud by using it.",
    "doctor": "Explain what is wrong on this machine and in the cluster.",
    "report": "Collect a support bundle without secrets.",
    "operator": "Run the operator in the foreground.",
    "provisioner": "Run the provisioner of local volumes of one node in the foreground.",
    "down": "Stop everything and clean up the machine; data is kept.",
}

EPILOG = """Examples:

  stackwright up                 a cloud on this machine

  stackwright up --nodes 3       with three Kubernetes nodes

  stackwright doctor             what is wrong?

  stackwright down --purge       remove it and its data
"""


@functools.cache
def _modules() -> dict[str, str]:
    """Those of the table whose files are there, and their modules."""
    folders = {path.stem: path.parent.name for path in Path(__file__).parent.glob("*/*.py")}
    files = {name: name.replace("-", "_") for name in COMMANDS}
    return {name: f"stackwright.cli.{folders[file]}.{file}" for name, file in files.items() if file in folders}


class LazyCommand(TyperCommand):
    """Stands for a command in listings; becomes it when called."""

    def load(self) -> Any:
        assert self.name is not None
        module = importlib.import_module(_modules()[self.name])
        if isinstance(group := getattr(module, "app", None), typer.Typer):
            return add(typer.main.get_command(group))
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(self.name)(getattr(module, self.name.replace("-", "_")))
        return add(typer.main.get_command(single))

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        try:
            return self.load().make_context(info_name, args, parent=parent, **extra)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # pydantic's, with which Typer checks choices
            raise


class LazyGroup(TyperGroup):
    """Lists the table; imports nothing."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_modules())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        return LazyCommand(name=cmd_name, help=COMMANDS[cmd_name], rich_markup_mode=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Ends an unknown command with those that are spelt alike; Typer's own suggestions need loaded commands."""
        if args and args[0] not in (known := self.list_commands(ctx)):
            from difflib import get_close_matches

            close = get_close_matches(args[0], known)
            hint = f" Did you mean {' or '.join(close)}?" if close else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=LazyGroup,
    name="stackwright",
    help="Deploy and operate OpenStack on Kubernetes.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from importlib.metadata import version as of

        common.echo(of("stackwright"))
        raise typer.Exit


def main() -> None:
    """Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:  # of our own, or of a library: all that is foreseen has become an exit code
        from stackwright.cli.common import trace
        from stackwright.runtime.faults import place

        trace()
        common.echo(
            f"Internal error: {place(error)}. This is an error in Stackwright: "
            "please report this message, with what the command prints with --verbose",
            err=True,
        )
        sys.exit(EXIT_FAILURE)
