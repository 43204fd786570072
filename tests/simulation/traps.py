"""Scenarios in which one protection alone stands between a cluster and a broken invariant.

Each of them is harmless to a sound cluster, and random faults come upon them too seldom.
"""

import asyncio

from events.nodes import NodeExpelled, NodeFenced, NodeLost
from tests.simulation.cluster import Cluster
from tests.simulation.etcd_members import IDS
from tests.simulation.script import a_busy_node, an_errand, on, replaced, told, until

AFTER_S = 20.0  # by then what is wrong has come to light
OUTAGE_S = 3.8  # longer than a leader's gap, shorter than its lease


async def cut_off(cluster: Cluster) -> None:
    """A node reaches nobody until it is replaced, and comes back."""
    machine = await a_busy_node(cluster)
    machine.process.cut_off()
    await replaced(cluster)
    machine.process.join()
    await asyncio.sleep(AFTER_S)


async def revoked_and_cut_off(cluster: Cluster) -> None:
    """A node is expelled while its right still lasts: its lease was revoked as it was cut off."""
    machine = await a_busy_node(cluster)
    item = cluster.store.get(cluster.keys.node("n1"))
    assert item is not None
    machine.process.cut_off()
    cluster.store.revoke(item.lease)
    await asyncio.sleep(AFTER_S)
    machine.process.join()
    await asyncio.sleep(AFTER_S)


async def stopped(cluster: Cluster) -> None:
    """An agent stands still until its node is replaced, and goes on where it stood."""
    machine = await a_busy_node(cluster)
    machine.process.pause()
    await replaced(cluster)
    machine.process.resume()
    await asyncio.sleep(AFTER_S)


async def only_masters_reach_it(cluster: Cluster) -> None:
    """A node trains on by the word of all masters."""
    machine = await a_busy_node(cluster)
    machine.process.cut_from = frozenset(IDS)
    await asyncio.sleep(2 * AFTER_S)
    machine.process.join()


async def a_stranger_leads(cluster: Cluster) -> None:
    """A node trains on by the word of masters that do not lead, and does not know the one who may.

    That one has given no word, and would end the node's tenure.
    """
    machine = await a_busy_node(cluster)
    machine.process.cut_from = frozenset(IDS)
    await until(cluster, lambda: told(cluster, NodeLost) == 1)
    known = [process for process, _ in cluster.masters.values()]
    for process in known:
        process.cut_from = frozenset(IDS)
    cluster.start_master("stranger")
    await asyncio.sleep(2 * AFTER_S)
    for process in (machine.process, *known):
        process.join()
    await asyncio.sleep(AFTER_S)


async def an_outage_after_the_end(cluster: Cluster) -> None:
    """A tenure has just been ended when etcd goes away, and the node cannot know.

    It extends its right on the word of members without a leader. So what the leader has waited
    before the outage counts for nothing after it.
    """
    machine = await a_busy_node(cluster)
    machine.process.cut_off()
    item = cluster.store.get(cluster.keys.node("n1"))
    assert item is not None
    cluster.store.revoke(item.lease)
    await until(cluster, lambda: told(cluster, NodeExpelled) == 1)
    cluster.store.set_quorum(quorum=False)
    machine.process.join()
    await asyncio.sleep(OUTAGE_S)
    machine.process.cut_off()  # It learns nothing of the end when etcd is back.
    cluster.store.set_quorum(quorum=True)
    await until(cluster, lambda: told(cluster, NodeFenced) == 1)
    await asyncio.sleep(AFTER_S)
    machine.process.join()


async def back_in_an_outage(cluster: Cluster) -> None:
    """A node that was fenced off is back in the middle of an outage, and most members are mute."""
    machine = await a_busy_node(cluster)
    machine.process.cut_off()
    await replaced(cluster)
    cluster.store.set_quorum(quorum=False)
    machine.process.join()
    await asyncio.sleep(AFTER_S)
    cluster.store.set_quorum(quorum=True)
    await asyncio.sleep(AFTER_S)


async def back_before_the_end(cluster: Cluster) -> None:
    """The end of a tenure is on its way to etcd when its node registers again."""
    machine = await a_busy_node(cluster)
    before = set(on(cluster, "n1"))
    item = cluster.store.get(cluster.keys.node("n1"))
    assert item is not None
    machine.process.pause()
    cluster.store.revoke(item.lease)
    await until(cluster, lambda: told(cluster, NodeLost) == 1)
    machine.process.resume()
    await asyncio.sleep(AFTER_S)
    unharmed = before <= set(on(cluster, "n1"))
    cluster.checker.require(unharmed, "I8 containers of a node that was back were ended")


async def pruned(cluster: Cluster) -> None:
    """Containers end and are removed before the log knows of them, and their agent starts anew.

    Then only its memory says that they ever ran.
    """
    cluster.start_user("ann", (an_errand(steps=600, most=12),))
    machine = cluster.machines["n1"]
    await until(cluster, lambda: bool(machine.engine.running()))
    machine.process.cut_off()
    for container in machine.engine.running():
        machine.engine.signal(container.launch.name, "SIGKILL")
    machine.process.kill()
    for name in [one.launch.name for one in machine.engine.containers.values()]:
        machine.engine.remove(name)
    cluster.start_agent("n1")
    await asyncio.sleep(AFTER_S)
