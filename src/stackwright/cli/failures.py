"""Turns failures of a command into messages and exit codes: a sentence, without a traceback."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import typer

from stackwright.cli import common

T = TypeVar("T")
CLUSTER_API = "cluster.x-k8s.io"  # the group of its own kinds, and the end of those of its providers
OUR_PROVIDER = f"infrastructure.{CLUSTER_API}"


class CliError(Exception):
    """Ends the command with exit code 1; the text is all the user sees."""


def fail(message: str, code: int = 1) -> NoReturn:
    common.echo(message, err=True)
    raise typer.Exit(code)


def run(work: Coroutine[Any, Any, T], interrupted: int = 130) -> T:
    """Run a command's coroutine; a failure becomes a message and an exit code."""
    from stackwright.core.errors import Conflict, TerminalError, TransientError

    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        raise typer.Exit(interrupted) from None
    except CliError as error:
        fail(str(error))
    except (TransientError, TerminalError, Conflict) as error:
        common.trace()
        fail(failure_message(error))


@contextmanager
def exit_on_local_error(resume: str = "") -> Iterator[None]:
    """Prints the message of an expected failure, and after Ctrl-C the remains and how to continue."""
    from stackwright.local.commands import LocalError

    try:
        yield
    except LocalError as problem:
        common.echo(f"\n{problem}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        common.echo(f"\nInterrupted. {resume}", err=True)
        raise typer.Exit(130) from None


def failure_message(error: Exception) -> str:
    """The message for a failure of Kubernetes, with its notes, and what to install if a kind is not served."""
    from stackwright.core.errors import NotServed

    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    if isinstance(error, NotServed) and error.group.endswith(CLUSTER_API) and error.group != OUR_PROVIDER:
        return f"{text}\nCluster API or this provider is not installed on this cluster; `clusterctl init` installs it."
    if isinstance(error, NotServed):
        return f"{text}\nStackwright is not installed on this cluster; `stackwright up` installs it."
    return text
