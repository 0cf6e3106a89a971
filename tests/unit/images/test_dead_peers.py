"""The options of connections to MariaDB, by the script that changes the library of the images."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from support.mariadb_client import SCRIPT, patched

CLIENT = """\
import socket, sys
import pymysql
made, create = [], socket.create_connection
def keep(*words, **more):
    sock = create(*words, **more)
    made.append(sock.dup())
    return sock
socket.create_connection = keep
try:
    pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]))
except pymysql.MySQLError:
    pass
names = ("TCP_USER_TIMEOUT", "TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
options = [made[0].getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names]
print(options, made[0].getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
"""


def test_connections_get_the_options(tmp_path: Path) -> None:
    patched(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: server.accept()[0].close())
        thread.start()
        command = [sys.executable, "-c", CLIENT, str(server.getsockname()[1])]
        done = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True)
        thread.join()
    assert done.stdout == "[30000, 15, 5, 3] 1\n"


def test_a_library_that_it_does_not_know_ends_the_build(tmp_path: Path) -> None:
    ours = patched(tmp_path)
    text = (ours / "connections.py").read_text().replace("SO_KEEPALIVE", "SO_OTHER")
    spec = importlib.util.spec_from_file_location("dead_peers", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(SystemExit, match="adapt this script"):
        module.patch(text)
