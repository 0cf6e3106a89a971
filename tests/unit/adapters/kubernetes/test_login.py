"""A kubeconfig whose user authenticates by a command or a file: it works, or the cause is reported in a sentence."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
import stat
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives import serialization
from lightkube import AsyncClient
from lightkube.config.client_adapter import ExecAuth
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import UserExec
from lightkube.core.generic_client import GenericAsyncClient

from stackwright.adapters.kubernetes import login
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.adapters.kubernetes.logs import Container, LogRange, LogReader
from stackwright.api.kinds import NODE
from stackwright.core.errors import TerminalError, TransientError
from stackwright.runtime import x509

API = "client.authentication.k8s.io"


def configured(folder: Path, user: dict[str, Any]) -> Path:
    """A kubeconfig. Port 1 has no server, which a client with a token reports."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "config"
    path.write_text(json.dumps(config))
    return path


async def told(folder: Path, user: dict[str, Any], tell: Any = None) -> str:
    cluster = KubernetesCluster.from_file(str(configured(folder, user)), tell=tell)
    try:
        with pytest.raises(TransientError) as raised:
            await cluster.get(NODE, ("", "n"))
    finally:
        await cluster.close()
    return str(raised.value)


def log_reader(path: Path, tell: Any = None) -> LogReader:
    return LogReader(KubernetesCluster.from_file(str(path), tell=tell))


def command(script: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    return {"exec": {"apiVersion": f"{API}/{version}", "command": "/bin/sh", "args": ["-c", script], **more}}


# Owner → its private attributes that adapters/kubernetes*.py use, each with its type.
PRIVATE: dict[str, dict[str, Any]] = {
    "lightkube.AsyncClient": {"_client": GenericAsyncClient},
    "lightkube.core.generic_client.GenericAsyncClient": {"_client": httpx2.AsyncClient},
    "lightkube.config.client_adapter.ExecAuth": {"_exec": UserExec, "_prepare": Callable},
    "httpx2.AsyncClient": {"_transport": httpx2.AsyncBaseTransport},
    "asyncio.subprocess.Process": {"_transport": asyncio.SubprocessTransport},
}


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner in PRIVATE for name in PRIVATE[owner]])
async def test_libraries_have_the_private_attributes_that_the_login_uses(tmp_path: Path, owner: str, name: str) -> None:
    """An upgrade of a library that renames one fails here."""
    config = KubeConfig.from_file(configured(tmp_path, command("true", "v1beta1"))).get()
    assert config and config.user and config.user.exec
    process = await asyncio.create_subprocess_exec("true")
    async with httpx2.AsyncClient() as http:
        client = AsyncClient(config=config, trust_env=False)
        owners = (client, getattr(client, "_client", None), ExecAuth(config.user.exec), http, process)
        found = getattr(dict(zip(PRIVATE, owners, strict=True))[owner], name, None)
        await client.close()
    await process.wait()
    assert isinstance(found, PRIVATE[owner][name]), f"{owner} has no {name} of the type that the login needs"


async def test_a_request_uses_the_private_transport_of_its_client() -> None:
    async with httpx2.AsyncClient() as http:
        await http._transport.aclose()
        http._transport = httpx2.MockTransport(lambda request: httpx2.Response(200, text="by it"))
        assert (await http.get("http://127.0.0.1:1")).text == "by it"


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_command_returns_a_token(tmp_path: Path, version: str) -> None:
    answer = json.dumps({"apiVersion": f"{API}/{version}", "kind": "ExecCredential", "status": {"token": "t"}})
    assert "cannot be reached" in await told(tmp_path, command(f"echo '{answer}'", version))


async def test_a_failed_command_is_reported(tmp_path: Path) -> None:
    found = await told(tmp_path, command("echo log in first >&2; exit 3"))
    assert "authentication with the kubeconfig failed" in found
    assert "log in first" in found


@pytest.mark.parametrize("answer", ["hush", "[]", '{"status": {"hush": 1}}', '{"status": null}'])
async def test_invalid_output_of_a_command_is_reported_without_its_text(tmp_path: Path, answer: str) -> None:
    found = await told(tmp_path, command(f"echo '{answer}'"))
    assert "returned no ExecCredential" in found
    assert "hush" not in found


async def test_an_unknown_version_is_reported(tmp_path: Path) -> None:
    assert "v9" in await told(tmp_path, command("true", "v9"))


@pytest.mark.parametrize(("name", "why"), [("/no/such", "No such file"), ("/etc/passwd", "Permission denied")])
async def test_a_command_that_cannot_run_is_not_reported_as_an_unreachable_api(
    tmp_path: Path, name: str, why: str
) -> None:
    found = await told(tmp_path, {"exec": {"apiVersion": f"{API}/v1", "command": name}})
    assert f"authentication with the kubeconfig failed: its command {name} could not be started: {why}" in found
    assert "cannot be reached" not in found


async def test_a_command_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "LOGIN", 0.5)
    found = await told(tmp_path, command(f"echo $$ > {tmp_path}/pid; exec sleep 100"))
    assert "authentication with the kubeconfig failed: its command /bin/sh was not finished after " in found
    await asyncio.sleep(0.2)
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


async def test_messages_of_a_command_are_shown_without_secrets(tmp_path: Path) -> None:
    found = await told(tmp_path, command("echo token: hush >&2; exit 3"))
    assert "its command /bin/sh ended with exit code 3: token: ***" in found


async def test_logs_are_read_with_the_same_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "LOGIN", 0.5)
    reader = log_reader(configured(tmp_path, command("sleep 100")))
    with pytest.raises(TransientError, match="/bin/sh was not finished after"):
        [line async for line in reader.lines(Container("n", "p", "c"), LogRange(), follow=False)]


async def _request(reader: asyncio.StreamReader) -> bytes:
    """Its first line and headers; nothing when the client is gone."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, OSError):
        return b""


class Server:
    """An API server with TLS. It records clients and tokens; unknown or anonymous clients get 401."""

    def __init__(self, folder: Path) -> None:
        self.issuer = x509.authority("authority", time.time())
        self.folder, self.seen, self.unknown, self.open = folder, list[str](), set[str](), 0
        for name, pem in self.certificate("localhost").items():
            (folder / name).write_text(pem)

    def certificate(self, name: str) -> dict[str, str]:
        return x509.issue(self.issuer, [name], [], time.time())[0]

    def answer(self, name: str, seconds: float | None = None, **more: str) -> None:
        """The output of the command from now on: a certificate of this name that expires in this many seconds."""
        pair = self.certificate(name)
        status = {"clientCertificateData": pair["tls.crt"], "clientKeyData": pair["tls.key"], **more}
        if seconds is not None:
            status["expirationTimestamp"] = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
        answer = {"apiVersion": f"{API}/v1", "kind": "ExecCredential", "status": status}
        (self.folder / "answer").write_text(json.dumps(answer))

    async def reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subject = (writer.get_extra_info("peercert") or {}).get("subject", ())
        name = "".join(value for part in subject for key, value in part if key == "commonName")
        self.open += 1
        while request := await _request(reader):
            token = "+token" * (b"Bearer t\r" in request)
            self.seen.append(name + token)
            status = "401 Unauthorized" if not name or name in self.unknown else "200 OK"
            body = json.dumps({"kind": "Node", "metadata": {"name": "n", "labels": {"client": name}}})
            writer.write(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()
        writer.close()
        self.open -= 1

    @asynccontextmanager
    async def cluster(self) -> AsyncIterator[KubernetesCluster]:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self.folder / "ca.crt"))
        context.load_cert_chain(self.folder / "tls.crt", self.folder / "tls.key")
        context.verify_mode = ssl.CERT_OPTIONAL
        server = await asyncio.start_server(self.reply, "127.0.0.1", 0, ssl=context)
        path = configured(self.folder, command(f"echo >> {self.folder}/runs; cat {self.folder}/answer"))
        config = json.loads(path.read_text())
        port = server.sockets[0].getsockname()[1]
        authority = str(self.folder / "ca.crt")
        config["clusters"][0]["cluster"] = {"server": f"https://localhost:{port}", "certificate-authority": authority}
        path.write_text(json.dumps(config))
        cluster = KubernetesCluster.from_file(str(path))
        try:
            yield cluster
        finally:
            await cluster.close()
            server.close()

    def runs(self) -> int:
        return len((self.folder / "runs").read_text())


async def test_a_command_returns_a_client_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    modes = list[int]()
    load = ssl.SSLContext.load_cert_chain

    def loaded(context: ssl.SSLContext, file: Any, *args: Any, **more: Any) -> None:
        modes.append(stat.S_IMODE(Path(file).stat().st_mode))
        load(context, file, *args, **more)

    server = Server(tmp_path)
    server.answer("ann")
    async with server.cluster() as cluster:
        monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", loaded)
        for _ in range(3):
            found = await cluster.get(NODE, ("", "n"))
            assert found and found["metadata"]["labels"]["client"] == "ann"
    assert server.seen == ["ann"] * 3
    assert server.runs() == 1
    assert modes == [0o600]
    assert not list(temporary.iterdir())


async def test_a_certificate_that_ended_or_is_refused_is_replaced(tmp_path: Path) -> None:
    server = Server(tmp_path)
    async with server.cluster() as cluster:

        async def asked() -> list[str]:
            server.seen.clear()
            await cluster.get(NODE, ("", "n"))
            return server.seen

        server.answer("ann", seconds=-1)
        assert await asked() == ["ann"]  # as client-go: the new credentials are tried
        server.answer("ben", seconds=3600)
        assert await asked() == ["ben"]
        server.answer("cid", token="t")
        assert await asked() == ["ben"]
        server.unknown.add("ben")
        assert await asked() == ["ben", "cid+token"]
        server.unknown.add("cid")
        server.answer("dot")
        assert await asked() == ["cid+token", "dot"], "the former token is not sent any more"
        await asyncio.sleep(0.2)
        assert server.open == 0, "no connection with a former certificate stays"
    assert server.runs() == 4


async def test_concurrent_requests_are_all_authenticated(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.answer("ann")
    async with server.cluster() as cluster:
        await asyncio.gather(*(cluster.get(NODE, ("", "n")) for _ in range(20)))
        assert server.seen == ["ann"] * 20
        assert server.runs() == 1
        server.unknown.add("ann")
        server.answer("ben")
        await asyncio.gather(*(cluster.get(NODE, ("", "n")) for _ in range(20)))
    assert server.seen.count("ben") == 20
    assert server.runs() == 2


async def test_concurrent_requests_share_a_failed_login(tmp_path: Path) -> None:
    path = configured(tmp_path, command(f"echo >> {tmp_path}/runs; sleep 0.2; echo log in first >&2; exit 3"))
    cluster = KubernetesCluster.from_file(str(path))
    for runs in (1, 2):
        asked = (cluster.get(NODE, ("", "n")) for _ in range(20))
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [isinstance(each, TransientError) and "log in first" in str(each) for each in found] == [True] * 20
        assert len((tmp_path / "runs").read_text()) == runs
    await cluster.close()


async def test_a_login_continues_after_its_request_is_cancelled(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.answer("ann")
    async with server.cluster() as cluster:
        first, other = (asyncio.create_task(cluster.get(NODE, ("", "n"))) for _ in range(2))
        while not (tmp_path / "runs").exists():
            await asyncio.sleep(0)
        first.cancel()
        assert await other
    assert first.cancelled() and server.seen == ["ann"]


@pytest.mark.parametrize(
    "status",
    [
        {"clientCertificateData": "hush"},
        {"clientKeyData": "hush"},
        {"clientCertificateData": "hush", "token": "hush"},
        {"token": ""},
        {"token": ["hush"]},
        {"token": "hush", "expirationTimestamp": "hush"},
        {"token": "hush", "expirationTimestamp": "2026-01-01T00:00:00"},
    ],
)
async def test_an_incomplete_credential_is_reported(tmp_path: Path, status: dict[str, Any]) -> None:
    found = await told(tmp_path, command(f"echo '{json.dumps({'status': status})}'"))
    wanted = "status.token, or status.clientCertificateData and status.clientKeyData"
    assert f"its command /bin/sh returned no ExecCredential with {wanted}" in found
    assert "hush" not in found


async def test_an_unusable_certificate_is_reported_without_its_text(tmp_path: Path) -> None:
    """For example a key with a passphrase, for which no user is prompted."""
    made = Server(tmp_path).certificate
    key = serialization.load_pem_private_key(made("ann")["tls.key"].encode(), None)
    sealed = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"hush")
    )
    for certificate, private in (
        ("hush", "hush"),
        (made("ann")["tls.crt"], made("ann")["tls.key"]),
        (made("ann")["tls.crt"], sealed.decode()),
    ):
        answer = json.dumps({"status": {"clientCertificateData": certificate, "clientKeyData": private}})
        (tmp_path / "answer").write_text(answer)
        found = await told(tmp_path, command(f"cat {tmp_path}/answer"))
        assert "its command /bin/sh returned a certificate and a key that do not match" in found
        assert "hush" not in found and "BEGIN" not in found


async def test_logs_report_login_errors_too(tmp_path: Path) -> None:
    reader = log_reader(configured(tmp_path, command("echo hush")))
    with pytest.raises(TransientError, match="/bin/sh returned no ExecCredential"):
        [line async for line in reader.lines(Container("n", "p", "c"), LogRange(), follow=False)]


async def test_a_token_file_that_is_no_text_is_reported(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"hush\xff")
    found = await told(tmp_path, {"tokenFile": str(tmp_path / "token")})
    assert "the file of its token is not text" in found
    assert "hush" not in found


async def test_a_missing_token_file_is_reported(tmp_path: Path) -> None:
    assert "/no/such" in await told(tmp_path, {"tokenFile": "/no/such"})


@pytest.mark.parametrize("form", ["command", "text"])
@pytest.mark.parametrize("token", ["hunter2\n", "hunter2\nX: y", "hunter2\0"])
async def test_a_token_that_is_invalid_in_a_header_is_not_shown(tmp_path: Path, form: str, token: str) -> None:
    """Once something listens, the HTTP library repeats the header that it refuses."""
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    answer = json.dumps({"kind": "ExecCredential", "status": {"token": token}})
    user = {"token": token} if form == "text" else command("printf %s '" + answer + "'")
    path = configured(tmp_path, user)
    path.write_text(path.read_text().replace("127.0.0.1:1", f"127.0.0.1:{server.sockets[0].getsockname()[1]}"))
    cluster = KubernetesCluster.from_file(str(path))
    with pytest.raises(TransientError, match="characters that are not allowed in HTTP headers") as raised:
        await cluster.get(NODE, ("", "n"))
    assert "hunter2" not in str(raised.value)
    assert raised.value.__suppress_context__
    await cluster.close()
    server.close()


async def test_terminal_control_sequences_of_a_command_are_escaped(tmp_path: Path) -> None:
    assert r"\x1b[2J" in await told(tmp_path, command("printf '\\033[2Jno' >&2; exit 3"))


async def test_half_of_a_character_is_no_matter_of_the_login(tmp_path: Path) -> None:
    cluster = KubernetesCluster.from_file(str(configured(tmp_path, {})))
    with pytest.raises(TerminalError, match="apply Node n: a string in the object is not valid Unicode"):
        await cluster.apply(NODE, {"metadata": {"name": "n", "labels": {"a": "\ud800"}}}, "test")
    await cluster.close()


@pytest.mark.parametrize("what", ["objects", "logs"])
async def test_login_instructions_are_shown_while_a_command_waits(tmp_path: Path, what: str) -> None:
    said: list[str] = []
    script = f"echo open https://login.example/device >&2; printf 'and enter: ' >&2; until [ -e {tmp_path}/done ];"
    script += " do sleep 0.05; done; echo thanks >&2; exit 3"
    path = configured(tmp_path, command(script))
    if what == "logs":
        lines = log_reader(path, said.append).lines(Container("n", "p", "c"), LogRange(), follow=False)
        asked: Any = asyncio.create_task(anext(lines))
    else:
        cluster = KubernetesCluster.from_file(str(path), tell=said.append)
        asked = asyncio.create_task(cluster.get(NODE, ("", "n")))
    for _ in range(100):
        await asyncio.sleep(0.05)
        if "enter" in "".join(said):
            break
    assert "".join(said) == "open https://login.example/device\nand enter: ", "a question is told, too"
    assert not asked.done()
    (tmp_path / "done").touch()
    with pytest.raises(TransientError, match=r"its command /bin/sh ended with exit code 3$"):
        await asked
    assert "".join(said) == "open https://login.example/device\nand enter: thanks\n"


async def test_messages_of_a_waiting_command_are_escaped_and_without_secrets(tmp_path: Path) -> None:
    said: list[str] = []
    script = r"""printf 'token: ' >&2; sleep 0.5; printf 'hush\n\033[2Jno\r\nAuthorization' >&2; sleep 0.5;
        printf ': Bearer hush' >&2; exit 3"""
    await told(tmp_path, command(script), said.append)
    text = "".join(said)
    assert text.startswith("token: ***\n\\x1b[2Jno\nAuthorization")
    assert text.endswith("***\n") and "hush" not in text


async def test_the_last_line_of_an_endless_command_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "LOGIN", 0.5)
    for tell in (None, [].append):
        found = await told(tmp_path, command("echo one >&2; printf 'enter token: hush' >&2; exec sleep 100"), tell)
        assert found.endswith("was not finished after 0 s; its last message: enter token: ***")


@pytest.mark.parametrize("end", ["", "; exec >&-; sleep 0.5"], ids=["at once", "after its answer"])
async def test_processes_left_by_a_command_are_not_awaited(tmp_path: Path, end: str) -> None:
    """For example a browser that keeps standard error open. The command may end some time after its output."""
    answer = json.dumps({"status": {"token": "t"}})
    start = time.monotonic()
    found = await told(tmp_path, command(f"sleep 20 >/dev/null & echo $! > {tmp_path}/pid; echo '{answer}'{end}"))
    os.kill(int((tmp_path / "pid").read_text()), 9)
    assert "cannot be reached" in found
    assert time.monotonic() - start < 10


async def information(folder: Path, user: dict[str, Any], tell: Any = None, **cluster: Any) -> dict[str, Any]:
    """The content of Kubernetes' variable for a command, and of its standard input."""
    path = configured(folder, user)
    config = json.loads(path.read_text())
    config["clusters"][0]["cluster"] |= cluster
    path.write_text(json.dumps(config))
    client = KubernetesCluster.from_file(str(path), tell=tell)
    with pytest.raises(TransientError):
        await client.get(NODE, ("", "n"))
    await client.close()
    found: dict[str, Any] = json.loads((folder / "info").read_text())
    return found


class Terminal:
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize("mode", [None, "Never", "IfAvailable"])
@pytest.mark.parametrize("terminal", [False, True])
async def test_a_command_knows_whether_it_may_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, mode: str | None, terminal: bool
) -> None:
    if terminal:
        monkeypatch.setattr(sys, "stdin", Terminal())
    script = f'printf %s "$KUBERNETES_EXEC_INFO" > {tmp_path}/info; exit 3'
    user = command(script, version, **({"interactiveMode": mode} if mode else {}))
    wanted = {"kind": "ExecCredential", "apiVersion": f"{API}/{version}"}
    quiet = {**wanted, "spec": {"interactive": False}}
    assert await information(tmp_path, user) == quiet, "the operator asks nobody"
    asks = terminal and mode != "Never"
    assert await information(tmp_path, user, [].append) == {**wanted, "spec": {"interactive": asks}}


async def test_an_interactive_command_is_not_run_without_a_terminal(tmp_path: Path) -> None:
    user = command(f"touch {tmp_path}/run", interactiveMode="Always")
    for tell in (None, [].append):
        assert "requires a terminal" in await told(tmp_path, user, tell)
    assert "the unknown interactiveMode Often" in await told(tmp_path, command("true", interactiveMode="Often"))
    assert not (tmp_path / "run").exists()


async def test_a_command_that_may_not_ask_has_no_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "LOGIN", 5)
    read, write = os.pipe()
    before = os.dup(0)
    os.dup2(read, 0)
    try:
        found = await told(tmp_path, command("cat; echo that was all >&2; exit 3"))
    finally:
        os.dup2(before, 0)
        for each in (read, write, before):
            os.close(each)
    assert found.endswith("ended with exit code 3: that was all")


async def test_a_command_gets_the_cluster_info_if_requested(tmp_path: Path) -> None:
    script = f'printf %s "$KUBERNETES_EXEC_INFO" > {tmp_path}/info; exit 3'
    own = {"name": f"{API}/exec", "extension": {"audience": "a"}}
    more = {
        "insecure-skip-tls-verify": True,
        "tls-server-name": "n",
        "proxy-url": "http://p",
        "disable-compression": True,
        "extensions": ["x", {"name": "other", "extension": 1}, own],
    }
    assert "cluster" not in (await information(tmp_path, command(script), **more))["spec"]
    found = await information(tmp_path, command(script, provideClusterInfo=True), **more)
    del more["extensions"]
    assert found["spec"]["cluster"] == {"server": "http://127.0.0.1:1", **more, "config": {"audience": "a"}}
    authority = x509.authority("authority", time.time())["ca.crt"]
    (tmp_path / "ca.crt").write_text(authority)
    for given in (
        {"certificate-authority": "ca.crt"},
        {"certificate-authority-data": base64.b64encode(authority.encode()).decode()},
    ):
        found = await information(tmp_path, command(script, provideClusterInfo=True), **given)
        assert base64.b64decode(found["spec"]["cluster"]["certificate-authority-data"]).decode() == authority


@pytest.mark.parametrize("name", ["./login.sh", "bin/../login.sh"])
async def test_relative_paths_of_commands_and_token_files_start_at_the_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    answer = json.dumps({"status": {"token": "t"}})
    (tmp_path / "bin").mkdir()
    (tmp_path / "login.sh").write_text(f"#!/bin/sh\necho '{answer}'\n")
    (tmp_path / "login.sh").chmod(0o755)
    (tmp_path / "token").write_text("t")
    user = {"exec": {"apiVersion": f"{API}/v1", "command": name}}
    assert "cannot be reached" in await told(tmp_path, user)
    assert "cannot be reached" in await told(tmp_path, {"tokenFile": "token"})
    monkeypatch.chdir(tmp_path)
    for each in (user, {"tokenFile": "token"}):
        configured(tmp_path, each)
        cluster = KubernetesCluster.from_file("config")
        with pytest.raises(TransientError, match="cannot be reached"):
            await cluster.get(NODE, ("", "n"))
        await cluster.close()
    plain = {"exec": {"apiVersion": f"{API}/v1", "command": "login.sh"}}
    assert "its command login.sh could not be started" in await told(tmp_path, plain), "without a slash it is in $PATH"


@pytest.mark.parametrize("token", ["hunter2\n", "hunter2\0"])
async def test_logs_do_not_contain_a_token_that_is_invalid_in_a_header(tmp_path: Path, token: str) -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    path = configured(tmp_path, {"token": token})
    path.write_text(path.read_text().replace("127.0.0.1:1", f"127.0.0.1:{server.sockets[0].getsockname()[1]}"))
    with pytest.raises(TransientError, match=r"p/c: .*characters that are not allowed in HTTP headers") as raised:
        [line async for line in log_reader(path).lines(Container("n", "p", "c"), LogRange(), follow=False)]
    assert "hunter2" not in str(raised.value) and raised.value.__suppress_context__
    server.close()


async def test_reading_logs_needs_one_login(tmp_path: Path) -> None:
    path = configured(tmp_path, command(f"echo >> {tmp_path}/runs; echo '{json.dumps({'status': {'token': 't'}})}'"))
    cluster = KubernetesCluster.from_file(str(path))
    with pytest.raises(TransientError, match="cannot be reached"):
        await cluster.get(NODE, ("", "n"))
    with pytest.raises(TransientError, match="cannot be reached"):
        [line async for line in LogReader(cluster).lines(Container("n", "p", "c"), LogRange(), follow=False)]
    await cluster.close()
    assert len((tmp_path / "runs").read_text()) == 1
