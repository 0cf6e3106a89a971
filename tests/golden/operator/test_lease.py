"""The file by which the containers of the operator's pod know which of them is the last one."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tests.golden.operator.test_certificate import rendered

OPTION = "--lease-lock="


@pytest.mark.parametrize(("mode", "several"), [("single", False), ("split", True)])
def test_all_containers_lock_one_file_of_a_volume_that_they_share(mode: str, several: bool) -> None:
    """With a file of its own, a container would release the Lease while others write."""
    [pod] = [
        obj["spec"]["template"]["spec"]
        for obj in rendered(f"--set=controllers.mode={mode}")
        if obj["kind"] == "Deployment"
    ]
    places = set()
    for container in pod["containers"]:
        [path] = [PurePath(word.removeprefix(OPTION)) for word in container["args"] if word.startswith(OPTION)]
        [mount] = [each for each in container["volumeMounts"] if each["mountPath"] == str(path.parent)]
        assert not mount.keys() & {"subPath", "subPathExpr", "readOnly"}
        places.add((mount["name"], path))
    assert (len(pod["containers"]) > 1) is several
    assert [name for name, _ in places] == ["tmp"]
    assert {"name": "tmp", "emptyDir": {}} in pod["volumes"]
