"""A master reduced to its office: leads, and appends guarded events until it is fenced.

`python -m tests.etcd.leading ENDPOINT CLUSTER NAME` prints `leads EPOCH`, then, once another
master leads, `fenced`.
"""

import asyncio
import sys

from dorm.clock import SystemClock, SystemRandomness
from dorm.etcd import connect
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.log.leadership import Leadership
from dorm.logs import set_up
from events.errors import Fenced, Unavailable
from events.log import EventLog
from tests.builders import BY_TEST, leader_elected

TTL_S = 2.0


async def lead(endpoint: str, cluster: str, name: str) -> None:
    """Lead until fenced, trusting nothing but the fence: the clock is not asked."""
    etcd, keys, randomness = connect((endpoint,)), Keys(cluster), SystemRandomness()
    log = EtcdLog(etcd, keys, producer=f"{name}-{randomness.token(6)}")
    leadership = Leadership(
        etcd, keys, name=name, ttl_s=TTL_S, clock=SystemClock(), randomness=randomness
    )
    epoch = await leadership.campaign()
    say(f"leads {epoch}")
    keeping = asyncio.create_task(leadership.keep())
    await write_until_fenced(log, name, epoch)
    say("fenced")
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await etcd.close()


async def write_until_fenced(log: EventLog, name: str, epoch: int) -> None:
    """Append without a pause; a pause would let the clock do the work of the fence."""
    while True:  # Ends when another master leads.
        try:
            await log.append((leader_elected(name, epoch=epoch),), stamp=BY_TEST, fence=epoch)
        except Unavailable:
            continue
        except Fenced:
            return


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    set_up(json=False)
    asyncio.run(lead(*sys.argv[1:4]))
