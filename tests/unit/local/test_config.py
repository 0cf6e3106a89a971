from pathlib import Path

import pytest

from stackwright.core.kubernetes.versions import OLDEST_TEXT
from stackwright.local import config
from stackwright.local.config import LocalCluster
from stackwright.local.steps.context import Context, remember, remembered_nodes


def test_folders_are_set_by_the_environment() -> None:
    cluster = LocalCluster.discover({"STACKWRIGHT_HOME": "/data/sw", "STACKWRIGHT_CACHE": "/data/cache"})
    assert cluster.state == Path("/data/sw")
    assert cluster.cache == Path("/data/cache")
    assert cluster.kubeconfig == Path("/data/sw/kubeconfig")


@pytest.mark.parametrize(
    ("environ", "cache"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/stackwright"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/fast"}, "/fast/stackwright"),
        ({"HOME": "/home/me", "STACKWRIGHT_CACHE": ""}, "/home/me/.cache/stackwright"),
    ],
)
def test_the_cache_follows_the_usual_conventions(environ: dict[str, str], cache: str) -> None:
    cluster = LocalCluster.discover(environ)
    assert cluster.cache == Path(cache)
    assert cluster.state == Path("/var/lib/stackwright")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (None, ""),
        ("", ""),
        ("{", ""),
        ("[]", ""),
        ('{"nodes": 1}', ""),
        ('{"nodes": 1, "kubernetes": "../x"}', ""),
        (f'{{"nodes": 1, "kubernetes": "{OLDEST_TEXT}"}}', OLDEST_TEXT),
    ],
)
def test_a_cluster_keeps_its_version_of_kubernetes(tmp_path: Path, text: str | None, version: str) -> None:
    if text is not None:
        (tmp_path / "cluster.json").write_text(text)
    assert LocalCluster.discover({"STACKWRIGHT_HOME": str(tmp_path)}).kubernetes == version


def test_the_version_is_remembered_with_the_nodes(tmp_path: Path) -> None:
    cluster = LocalCluster(tmp_path, tmp_path, kubernetes=OLDEST_TEXT)
    remember(Context(cluster, 2))
    assert LocalCluster.discover({"STACKWRIGHT_HOME": str(tmp_path)}).kubernetes == OLDEST_TEXT
    assert remembered_nodes(cluster) == 2


def test_nodes_have_addresses_of_their_own() -> None:
    nodes = LocalCluster(Path("/s"), Path("/c")).nodes(config.MAX_NODES)
    assert [nodes[0].name, nodes[0].address, nodes[0].pod_cidr] == ["node1", "10.89.0.11", "10.244.1.0/24"]
    assert len({node.address for node in nodes}) == config.MAX_NODES
    assert config.MACHINE_ADDRESS not in {node.address for node in nodes}


def test_a_link_name_fits_into_the_kernels_fifteen_bytes() -> None:
    last = LocalCluster(Path("/s"), Path("/c")).node(config.MAX_NODES)
    assert len(last.veth) <= 15


def test_a_socket_path_fits_into_the_kernels_107_bytes() -> None:
    last = LocalCluster(Path("/" + "s" * 200), Path("/c")).node(config.MAX_NODES)
    assert len(str(last.containerd_socket)) < 107


def test_all_files_of_a_cluster_are_in_its_folders() -> None:
    cluster = LocalCluster(Path("/s"), Path("/c"), Path("/r"))
    node = cluster.node(1)
    paths = [cluster.pki, cluster.etcd_data, cluster.logs, cluster.image_store, cluster.services, node.home, node.run]
    assert all(path.parts[1] in ("s", "c", "r") for path in paths)
