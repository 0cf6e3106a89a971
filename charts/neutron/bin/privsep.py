"""Forks the daemons of an agent's privileged functions from one process, so that they share their memory.

Neutron runs privileged functions in daemons, one for each of six "privsep contexts". By default each daemon is started
by `[privsep*] helper_command` and loads all libraries: about 100 MB and one second of CPU time. Here one process
loads them once and forks a daemon for each context. Daemon and protocol are those of oslo.privsep.

    privsep.py serve ARGUMENTS          the process that forks; ARGUMENTS are the agent's --config-file, --config-dir
    privsep.py --privsep_context …      the helper command: passes its arguments on and ends once the daemon runs

The helper command runs without site packages and imports little, because the agent waits for it.
"""

import os
import socket
import sys
import time

SOCKET = "/tmp/privsep.sock"  # noqa: S108 - the pod's own /tmp
PATIENCE = 60.0  # seconds that the process may need to load everything on a busy node
PRIVILEGED = (
    "neutron.privileged.agent.linux.devlink",
    "neutron.privileged.agent.linux.dhcp",
    "neutron.privileged.agent.linux.ethtool",
    "neutron.privileged.agent.linux.ip_lib",
    "neutron.privileged.agent.linux.netlink_lib",
    "neutron.privileged.agent.linux.tc_lib",
    "neutron.privileged.agent.linux.utils",
)


def load(arguments: list[str]) -> None:
    """Loads the libraries that the daemons share, and the agent's configuration."""
    import gc
    import importlib

    from oslo_config import cfg
    from oslo_log import log

    for name in (*PRIVILEGED, "oslo_privsep.daemon"):
        importlib.import_module(name)
    log.register_options(cfg.CONF)
    cfg.CONF(args=arguments, project="neutron")
    log.setup(cfg.CONF, "privsep")
    gc.collect()
    gc.freeze()  # so that the garbage collector does not write to shared memory, which would copy it


def listen() -> socket.socket:
    from pathlib import Path

    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(SOCKET)
    Path(SOCKET).chmod(0o600)
    listener.listen(16)
    return listener


def become_daemon(context_name: str, path: str, answer: socket.socket) -> None:
    """Runs the daemon like oslo_privsep.daemon.helper_main, but with the loaded libraries."""
    from oslo_privsep import comm, daemon
    from oslo_utils import importutils

    context = importutils.import_class(context_name)
    channel_socket = socket.socket(socket.AF_UNIX)
    channel_socket.connect(path)
    daemon.set_cloexec(channel_socket)
    channel = comm.ServerChannel(channel_socket)
    answer.sendall(b"0")
    answer.close()
    daemon.replace_logging(daemon.PrivsepLogHandler(channel))
    daemon.Daemon(channel, context).run()


def serve(arguments: list[str]) -> None:
    import signal

    load(arguments)
    listener = listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: nothing waits for the daemons, which end with the agent
    while True:
        client, _ = listener.accept()
        context_name, path = client.recv(4096).decode().split("\n")
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                become_daemon(context_name, path, client)
            finally:
                os._exit(0)
        client.close()


def connect() -> socket.socket:
    until = time.monotonic() + PATIENCE
    while True:
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(SOCKET)
            return server
        except OSError as error:
            server.close()
            if time.monotonic() > until:
                sys.exit(f"privsep.py serve does not answer: {error}")
            time.sleep(0.1)


def ask(arguments: list[str]) -> int:
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    server = connect()
    server.sendall(f"{given['--privsep_context']}\n{given['--privsep_sock_path']}".encode())
    return 0 if server.recv(1) == b"0" else 1


if sys.argv[1] == "serve":
    serve(sys.argv[2:])
else:
    sys.exit(ask(sys.argv[1:]))
