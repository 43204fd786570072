"""Masters killed at a fail point, on a real etcd: the next one goes on where they stood."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dorm.local.etcd_process import EtcdCluster
from events.errors import Unavailable
from tests.crashes.masters import Master
from tests.crashes.points import OF_A_TERM

pytestmark = pytest.mark.etcd

SPEC = "name: train\nimage: i\nrun: {start: [x]}\nresources: {cpu: 1, memory: 1GiB}\n"


@pytest.fixture
def master(etcd_server: EtcdCluster, tmp_path: Path) -> Iterator[Master]:
    """A master, not started."""
    master = Master(etcd_server, tmp_path)
    yield master
    master.end()


def test_a_submit_and_a_cancel_that_are_answered_by_a_crash_happen_once(master: Master) -> None:
    """The user has no answer, asks again under the same key, and has one application."""
    with contextlib.closing(master.client()) as client:
        master.start(failpoint="api.submit.written:kill,api.change.written:kill")
        master.until_it_leads()
        with pytest.raises(Unavailable):
            client.submit(SPEC, key="k")
        assert -9 == master.died()

        master.start(failpoint="api.change.written:kill")
        master.until_it_leads()
        again = client.submit(SPEC, key="k")
        assert again["duplicate"]
        with pytest.raises(Unavailable):
            client.cancel(again["id"])
        assert -9 == master.died()

        master.start()
        master.until_it_leads()
        (app,) = client.apps(finished=True)
        assert (again["id"], "cancelled") == (app["id"], app["phase"])


def test_masters_that_die_on_their_way_into_office_keep_nobody_out_of_it(master: Master) -> None:
    """Each leaves a lease, a key or an event behind; leases run out, and the rest is found."""
    for name in OF_A_TERM:
        master.start(failpoint=f"{name}:exit")
        assert (name, 70) == (name, master.died())

    master.start()
    master.until_it_leads()

    with contextlib.closing(master.client()) as client:
        kinds = [one["kind"] for one in client.events(after=0)["events"]]
        assert kinds.count("leader.elected/1") >= 3
        assert client.status()["ignored"] == {}
        assert client.status()["healthy"]
