"""What ceph-mgr needs of its Python modules, and no more: it insists on ten of them, each an interpreter of its own.

A cloud needs none of them: the manager's own part counts what pools hold. With these empty ones it takes 85 MiB instead of
250 and more. This file takes the place of Ceph's own mgr_module.py; each module is a folder that takes `Module` from it.
"""

import ceph_module


class MgrModule(ceph_module.BaseMgrModule):
    COMMANDS: list[dict[str, str]] = []
    MODULE_OPTIONS: list[dict[str, str]] = []
    NOTIFY_TYPES: list[str] = []

    def __init__(self, _name: str, modules: object, this: object) -> None:
        super().__init__(modules, this)

    @classmethod
    def _register_options(cls, _name: str) -> None: ...

    @classmethod
    def _register_commands(cls, _name: str) -> None: ...

    @staticmethod
    def can_run() -> tuple[bool, str]:
        return True, ""

    def serve(self) -> None: ...

    def shutdown(self) -> None: ...

    def notify(self, _kind: str, _identity: str) -> None: ...

    def config_notify(self) -> None: ...


class MgrStandbyModule(ceph_module.BaseMgrStandbyModule): ...


class Module(MgrModule): ...
