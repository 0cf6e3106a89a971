"""One service object in a cluster in memory, for tests that look, decide and do step by step."""

from stackwright.api.kinds import NODE
from stackwright.controllers.service.decide import decide
from stackwright.controllers.service.observe import observe
from stackwright.core.settings import Settings
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from stackwright.services import keystone
from stackwright.services.context import PLACES
from stackwright.services.mariadb.kind import MariaDB
from support.ports import memory_ports
from tests.unit.controllers.builders import NAMESPACE, with_ready

SETTINGS = Settings({}, {})


class Stage:
    """One service object in a cluster in memory: look, decide, do."""

    def __init__(self, declared=keystone.SERVICE, spec=None, node=True, database=False):
        self.clock = FrozenClock(1000.0)
        self.cluster = MemoryCluster(clock=self.clock)
        self.declared = declared
        self.cluster.put(
            declared.kind, {"metadata": {"namespace": NAMESPACE, "name": declared.name}, "spec": spec or {}}
        )
        if database:
            self.cluster.put(MariaDB.KIND, {"metadata": {"namespace": NAMESPACE, "name": "mariadb"}, "spec": {}})
        if node:
            self.cluster.put(NODE, {"metadata": {"name": "n", "labels": dict(PLACES)}})

    async def look(self):
        return await observe(self.declared, SETTINGS, self.cluster, (NAMESPACE, self.declared.name), self.clock.now())

    async def plan(self):
        return decide(await self.look())

    async def do(self):
        """Decide and execute once."""
        plan = await self.plan()
        await execute(plan.actions, memory_ports(self.cluster, self.clock), "m")
        return plan

    def ready(self, kind, name, status="True", reason="Ready", message=""):
        live = self.cluster.peek(kind, (NAMESPACE, name))
        self.cluster.put(kind, with_ready(live, status, reason, message))
