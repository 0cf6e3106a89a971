"""The options of connections, by the script that changes libraries of the images."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from support.images.dead_peers import SCRIPT, patched
from support.paths import ROOT

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


KEYSTONE = """\
import socket
from keystoneauth1.session import TCPKeepAliveAdapter
options = TCPKeepAliveAdapter().poolmanager.connection_pool_kw["socket_options"]
sock = socket.socket()
for option in options:
    sock.setsockopt(*option)
names = ("TCP_SYNCNT", "TCP_USER_TIMEOUT", "TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_NODELAY")
print([sock.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names])
"""


def call(program: str, folder: Path, *words: str) -> str:
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(
        command, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_connections_to_mariadb_get_the_options(tmp_path: Path) -> None:
    patched(tmp_path, "pymysql/connections.py")
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: server.accept()[0].close())
        thread.start()
        assert call(CLIENT, tmp_path, str(server.getsockname()[1])) == "[30000, 15, 5, 3] 1\n"
        thread.join()


def test_connections_to_apis_get_the_options(tmp_path: Path) -> None:
    patched(tmp_path, "keystoneauth1/session.py")
    assert call(KEYSTONE, tmp_path) == "[2, 60000, 15, 5, 3, 1]\n"


def test_each_image_with_such_a_library_changes_it() -> None:
    """The script ends the build if it does not know a library."""
    words = {"base-python": ("pymysql/connections.py", "keystoneauth1/session.py"), "neutron": ("impl_idl_ovn.py",)}
    for image, files in words.items():
        text = (ROOT / "images" / image / "Containerfile").read_text()
        assert f"python3 /usr/share/stackwright/dead_peers.py {' '.join(files)} " in text


@pytest.mark.parametrize("file", ["pymysql/connections.py", "keystoneauth1/session.py"])
def test_a_library_that_it_does_not_know_ends_the_build(tmp_path: Path, file: str) -> None:
    text = (
        patched(tmp_path, file)
        .read_text()
        .replace("SO_KEEPALIVE", "SO_OTHER")
        .replace("['socket_options'] =", "[''] =")
    )
    spec = importlib.util.spec_from_file_location("dead_peers", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(SystemExit, match="adapt this script"):
        module.patch(text)
    with pytest.raises(SystemExit, match="adapt this script"):
        module.patch(2 * patched(tmp_path / "again", file).read_text())
