from world import World
import pytest
pytestmark = pytest.mark.looptime

async def test_a_fresh_cloud_becomes_ready():
    world = World()
    world.cloud()
    await world.settle()
    print(world.osdpl["status"], world.writes, len(world.reconciles))
    assert world.ready()
    await world.stop()
