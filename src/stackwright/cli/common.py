"""Options of all commands: -q, -v and, for commands that use a cluster, --context.

They are added to the parameters of a command when it is loaded (`cli/app.py`) and stored here while it runs, so that no
command passes them to others.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from stackwright.api.meta import Kind

CLUSTER = "kubeconfig"  # the parameter of commands that use a cluster
COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
LONGEST = 365 * 24 * 3600  # seconds of a duration
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)|(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?", re.ASCII)
# Options of commands that use a registry.
Ca = Annotated[
    Path | None,
    typer.Option("--ca", metavar="FILE", exists=True, dir_okay=False, help="CA of the registry, in PEM format."),
]
PlainHttp = Annotated[bool, typer.Option("--plain-http", help="Use HTTP instead of HTTPS.")]
OWN_CLUSTER = ("up", "operator", "provisioner")  # these commands choose the context themselves


@dataclass
class Common:
    """context  name in the kubeconfig; None for its current one. quiet  print only results and errors"""

    context: str | None = None
    quiet: bool = False
    verbose: bool = False


given = Common()


def add(command: Any) -> Any:
    """The command, or group of commands, with the common options."""
    if children := getattr(command, "commands", None):
        for child in children.values():
            add(child)
        return command
    known = {word for option in command.params for word in option.opts}
    speaks = command.name not in OWN_CLUSTER and any(option.name == CLUSTER for option in command.params)
    single = typer.Typer(add_completion=False)
    single.command()(_with_context if speaks else _without)
    new = typer.main.get_command(single).params
    command.params += [option for option in new if not known.intersection(option.opts)]
    for option in command.params:
        # Not the words of another program, such as those of `shell`.
        if (option.param_type_name == "option" or option.nargs == 1) and option.default != "":
            _refuse_empty(option)
    return command


def _refuse_empty(option: Any) -> None:
    """Refuse an empty value, as of an unset variable in a script: an empty path would be the current directory."""
    process = option.process_value

    def checked(ctx: Any, value: Any) -> Any:
        if "" in (value if isinstance(value, list | tuple) else (value,)):
            raise typer.BadParameter("must not be empty", ctx=ctx, param=option)
        return process(ctx, value)

    option.process_value = checked


def _keep(param: typer.CallbackParam, value: Any) -> Any:
    assert param.name is not None
    setattr(given, param.name, value)
    return value


def _option(*words: str, **more: Any) -> Any:
    return typer.Option(*words, callback=_keep, is_eager=True, expose_value=False, show_default=False, **more)


Context = Annotated[str | None, _option("--context", metavar="NAME", help="Context in the kubeconfig.")]
Quiet = Annotated[bool, _option("--quiet", "-q", help="Print only results and errors, no progress.")]
Verbose = Annotated[bool, _option("--verbose", "-v", help="Print each request to Kubernetes and more details.")]


def _with_context(context: Context = None, quiet: Quiet = False, verbose: Verbose = False) -> None: ...


def _without(quiet: Quiet = False, verbose: Verbose = False) -> None: ...


def duration(text: object, least: int = 0) -> float:
    """Seconds of 90, 90s, 15m, 2h or 1h30m, from `least` to LONGEST: the parser of all options for a duration.

    Raises typer.BadParameter with the allowed values.
    """
    found = _DURATION.fullmatch(str(text))
    parts = zip(found.groups(), (1, 3600, 60, 1), strict=True) if found and str(text) else ()
    seconds = sum(float(number or 0) * unit for number, unit in parts) if parts else -1
    if least <= seconds <= LONGEST:
        return seconds
    forms = "seconds (90) or hours, minutes and seconds (90s, 15m, 2h, 1h30m)"
    raise typer.BadParameter(f"{text!r} is not allowed; allowed: {forms}, from {least} s to {LONGEST // 3600}h")


TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        parser=duration,
        help="Timeout of the wait: seconds, or 90s, 15m, 2h; 0 checks once.",
    ),
]


def safe(text: str) -> str:
    """Text of other programs, such as pods, without control characters, but with ends of lines and tabs."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    from stackwright.api.errors import printable  # most texts need no import of pydantic

    return "".join(part if part in ("\n", "\t") else printable(part) for part in re.split(r"([\n\t])", text))


def coloured() -> bool:
    """Whether text for people has colours: on a terminal, unless $NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def echo(text: str, *, err: bool = False, painted: bool = False) -> None:
    """Prints text for people. Colours of painted text are kept."""
    parts = COLOUR.split(text) if painted else [text]
    typer.echo("".join(part if number % 2 else safe(part) for number, part in enumerate(parts)), err=err)


def data(text: str, *, nl: bool = True) -> None:
    """Prints data for programs unchanged: from `output.dumped`, or a log."""
    typer.echo(text, nl=nl)


def say(text: str) -> None:
    """Prints progress and results on standard output; nothing with --quiet."""
    if not given.quiet:
        echo(text)


def no_output(text: str) -> None:
    """Replaces `say` if standard output is for programs."""


def tell(text: str) -> None:
    """Prints messages of a credential plugin on standard error, also with --quiet."""
    typer.echo(safe(text), err=True, nl=False)


def on_call() -> Callable[[str, Kind], None] | None:
    """The callback for requests to Kubernetes: with --verbose it prints verb and kind on standard error."""
    return (lambda verb, kind: echo(f"→ {verb} {kind.kind}", err=True)) if given.verbose else None


def trace() -> None:
    """With --verbose, prints the traceback of the handled error on standard error."""
    if given.verbose:
        echo(traceback.format_exc().rstrip("\n"), err=True)
