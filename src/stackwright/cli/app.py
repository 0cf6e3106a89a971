"""The `stackwright` command: a table of commands, each imported only when it is called.

`stackwright --help` must be fast, so the table holds each command's folder and one-line help, and a command's
module (with the Kubernetes client, the models, rich …) is imported when the command itself runs. A module
`cli/<folder>/<name>.py` has a function of the command's name (`-` is `_`), or, for a group of commands, a `typer.Typer`
called `app`.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
import shlex
import sys
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from stackwright.cli import common
from stackwright.cli.common import add

PROGRAM, PLUGIN = "stackwright", "kubectl stackwright"  # as users type them
COMPLETION = "_STACKWRIGHT_COMPLETE"  # the variable with which a shell requests completions
EXIT_FAILURE, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
COMPARING = ("plan",)  # exit code 2 means changes here, so wrong usage is a failure

WIDTH = 100  # of the help, on a terminal that is not narrower


class Command(NamedTuple):
    """folder  of its module in `cli`
    help    its line in the list of commands
    """

    folder: str
    help: str


# In the order of use. Help of 80 columns cuts texts of more than 61 characters.
COMMANDS = {
    "up": Command("machine", "Start the local Kubernetes, the operator, and a cloud."),
    "status": Command("show", "Show the state of the cluster and of its clouds."),
    "plan": Command("change", "Show what a manifest would change, without changing anything."),
    "values": Command("change", "Print the values of a chart, also for OpenStack-Helm."),
    "apply": Command("change", "Check manifests and apply them."),
    "wait": Command("operate", "Wait until a cloud is ready, and print what it waits for."),
    "logs": Command("show", "Show the logs of a service."),
    "restart": Command("operate", "Restart the pods of a service by a rolling update."),
    "pause": Command("operate", "Pause a cloud, a service or a server."),
    "resume": Command("operate", "Resume a paused object."),
    "history": Command("operate", "Show the revisions of a cloud, or of its Helm releases."),
    "rollback": Command("operate", "Restore an earlier spec of a cloud."),
    "delete": Command("change", "Delete a cloud, after listing what is deleted with it."),
    "servers": Command("show", "Show the servers created in OpenStacks."),
    "openrc": Command("use", "Print settings and credentials for OpenStack clients."),
    "shell": Command("use", "Open a shell with the cloud's credentials and clients."),
    "images": Command("images", "Build, list, load, push and export images."),
    "version": Command("show", "Print the versions of program, operator, and clouds."),
    "crds": Command("change", "Print the CustomResourceDefinitions."),
    "smoke": Command("use", "Test a cloud end to end."),
    "doctor": Command("machine", "Find faults of this machine and of the cluster."),
    "report": Command("show", "Collect a support bundle without secrets."),
    "operator": Command("programs", "Run the operator in the foreground."),
    "provisioner": Command("programs", "Run the provisioner of local volumes in the foreground."),
    "down": Command("machine", "Stop the cluster and clean up the machine; keep the data."),
}

EPILOG = """Examples:

  stackwright up                 a cloud on this machine

  stackwright up --nodes 3       with three Kubernetes nodes

  stackwright doctor             what is wrong?

  stackwright down --purge       remove it and its data

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Two commands differ: plan ends with 0 without
changes, 2 with changes, 1 after a failure or wrong usage; shell ends with the code of the command in the pod.
"""


def _module(name: str) -> str:
    return f"stackwright.cli.{COMMANDS[name].folder}.{name.replace('-', '_')}"


class LazyCommand(TyperCommand):
    """A placeholder in listings; it loads the command when it is called."""

    def load(self) -> Any:
        assert self.name is not None
        module = importlib.import_module(_module(self.name))
        if isinstance(group := getattr(module, "app", None), typer.Typer):
            return add(typer.main.get_command(group))
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(self.name)(getattr(module, self.name.replace("-", "_")))
        return add(typer.main.get_command(single))

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        command = self.load()
        if parent is not None and parent.find_root().info_name == PLUGIN:
            _as_plugin(command)
        return command.make_context(info_name, args, parent=parent, **extra)


def _as_plugin(command: Any) -> None:
    """Name the plug-in in the help of a command, its options and its subcommands."""
    for each in (command, *command.params):
        each.help = _typed_with_kubectl(each.help)
    for child in getattr(command, "commands", {}).values():
        _as_plugin(child)


def _typed_with_kubectl(text: str | None) -> str | None:
    return text and re.sub(rf"\b{PROGRAM}(?= ({'|'.join(COMMANDS)})\b)", PLUGIN, text)


class LazyGroup(TyperGroup):
    """Lists the table; imports nothing."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        return LazyCommand(name=cmd_name, help=COMMANDS[cmd_name].help, rich_markup_mode=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Suggests commands of a similar spelling; Typer's own suggestions need loaded commands."""
        if args and args[0] not in (known := self.list_commands(ctx)):
            from stackwright.api.wording import similar_names

            close = similar_names(args[0], known)
            hint = f" Did you mean {close}?" if close else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **extra: Any) -> Any:
        words = list(args)  # Click removes those that it parses
        if info_name == PLUGIN:
            self.epilog = _typed_with_kubectl(self.epilog)
            self.params = [each for each in self.params if "completion" not in str(each.name)]  # kubectl has its own
        try:
            return super().make_context(info_name, args, parent, **extra)
        except typer.TyperException as error:
            if next((word for word in words if word in COMMANDS), "") in COMPARING:
                error.exit_code = EXIT_FAILURE
            raise

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.TyperException as error:
            if (wrong := getattr(error.__cause__, "errors", None)) is not None:  # pydantic's, with which Typer checks
                from stackwright.api.wording import message_of

                error.message = "; ".join(message_of(item) for item in wrong())
            if ctx.invoked_subcommand in COMPARING:
                error.exit_code = EXIT_FAILURE
            raise


app = typer.Typer(
    cls=LazyGroup,
    name=PROGRAM,
    help="Deploy and operate OpenStack on Kubernetes.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version and exit.")
) -> None:
    if version:
        from importlib.metadata import version as of

        common.echo(of(PROGRAM))
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        common.echo(ctx.get_help(), err=True)
        raise typer.Exit(EXIT_USAGE)


def main(program: str = PROGRAM) -> None:
    """Ends with the exit codes of EPILOG."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r+"))
    try:
        app(prog_name=program)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:  # an unexpected error: expected ones have become exit codes
        if COMPLETION not in os.environ:  # a shell would show the error in the line that is being typed
            _tell(error)
        sys.exit(EXIT_FAILURE)


def plugin() -> None:
    """`kubectl-stackwright`, which kubectl calls for `kubectl stackwright`."""
    main(PLUGIN)


def complete_plugin() -> None:
    """`kubectl_complete-stackwright WORD... INCOMPLETE`, which kubectl calls for completions of the plug-in.

    Prints one candidate per line, with a tab and its description, in the format of Cobra, which is also fish's. Without
    candidates the shell completes names of files.
    """
    *words, incomplete = sys.argv[1:] or [""]
    typed = shlex.join([PROGRAM, *words]) + " " + (shlex.quote(incomplete) if incomplete else "")
    asked = {COMPLETION: "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": typed}
    os.environ.update(asked)
    main()


def _tell(error: Exception) -> None:
    from stackwright.core.errors import place

    common.trace()
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the rest of the buffered output
        common.echo(": ".join(str(part) for part in (error.filename, error.strerror) if part), err=True)
        return
    common.echo(
        f"Internal error: {place(error)}. This is an error in Stackwright: "
        "please report this message and the output of the command with --verbose",
        err=True,
    )
