"""One machine drives the simulated etcd and a real one, call by call: any difference fails.

Every proof of the simulation rests on its etcd, so that one is held against the real one, and not
against what we believe of it. Each run has a part of the real store for itself, and nobody else
writes there meanwhile: so revisions of both count alike from the beginning of the run.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, ClassVar, Final, Literal
from uuid import uuid4

import attrs
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from dorm.etcd import connect
from dorm.local.etcd_process import EtcdCluster
from dorm.ports.etcd import Compare, Delete, Etcd, Get, KeyValue, Operation, Put, WatchEvent
from events.errors import Compacted, DormError
from tests.etcd_servers import find_binary
from tests.simulation.etcd import NetworkFaults, SimEtcdClient
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.loop import virtual_loop
from tests.simulation.process import Process

NAMES: Final = ("a", "a/1", "a/2", "a0", "b", "b/")
PREFIXES: Final = ("", "a", "a/", "b", "zz")
MARK: Final = "~mark"  # written last, below the prefix of a watch, to see that it is complete
TTL_S: Final = 600.0  # no lease runs out during a run
WATCH_S: Final = 20.0
RUNS: Final = 40
STEPS: Final = 30

Kind = Literal["put", "get", "delete"]
Target = Literal["create", "mod", "version"]


@attrs.frozen(kw_only=True)
class Step:
    """An operation; a lease by its number, for its id differs between the two."""

    kind: Kind
    key: str
    value: bytes = b""
    lease: int | None = None


@attrs.frozen(kw_only=True)
class Guard:
    """A compare with the number that the key has now, or with 0, shifted by `off`."""

    key: str
    target: Target
    right: bool
    off: int


names = st.sampled_from(NAMES)
prefixes = st.sampled_from(PREFIXES)
numbers = st.integers(0, 3)
steps = st.builds(
    Step,
    kind=st.sampled_from(("put", "put", "get", "delete")),
    key=names,
    value=st.sampled_from((b"", b"1", b"22")),
    lease=st.none() | st.none() | numbers,
)
guards = st.builds(
    Guard,
    key=names,
    target=st.sampled_from(("create", "mod", "version")),
    right=st.booleans(),
    off=st.sampled_from((0, 0, 0, 1, -1)),
)


class Twin:
    """One of the two, with calls whose results can be compared.

    Attributes:
        leases: The ids of those that were granted, in order.
    """

    def __init__(self, etcd: Etcd, prefix: str, base: int) -> None:
        self.etcd, self.prefix, self.base = etcd, prefix, base
        self.leases: list[int] = []

    # What differs between the two, made alike

    def lease(self, number: int | None) -> int:
        """Return the id of a lease: 0 for none, and one that never was if there are too few."""
        if number is None:
            return 0
        return self.leases[number] if number < len(self.leases) else 987_654_321

    def revision(self, revision: int) -> int:
        """Return a revision counted from the beginning of the run; 0 stays 0."""
        return revision - self.base if revision else 0

    def item(self, item: KeyValue | None) -> object:
        """Return a key as it can be compared."""
        if item is None:
            return None
        return (
            item.key.removeprefix(self.prefix),
            item.value,
            self.revision(item.create_revision),
            self.revision(item.mod_revision),
            item.version,
            self.leases.index(item.lease) if item.lease else None,
        )

    def operation(self, step: Step) -> Operation:
        """Return a step as an operation."""
        key = self.prefix + step.key
        match step.kind:
            case "put":
                return Put(key, step.value, self.lease(step.lease))
            case "get":
                return Get(key)
            case "delete":
                return Delete(key)

    async def compare(self, guard: Guard) -> Compare:
        """Return a guard as a compare."""
        key, value = self.prefix + guard.key, 0
        if guard.right and (item := await self.etcd.get(key)):
            found = {"create": item.create_revision, "mod": item.mod_revision}
            value = found.get(guard.target, item.version)
        return Compare(key, guard.target, max(0, value + guard.off))

    async def now(self) -> int:
        """Return the newest revision."""
        return (await self.etcd.range(self.prefix, limit=1)).revision

    # The calls

    async def txn(
        self, when: Sequence[Guard], success: Sequence[Step], failure: Sequence[Step]
    ) -> object:
        """Run a transaction."""
        result = await self.etcd.txn(
            [await self.compare(guard) for guard in when],
            [self.operation(step) for step in success],
            [self.operation(step) for step in failure],
        )
        gets = [self.item(item) for item in result.gets]
        return result.succeeded, self.revision(result.revision), gets

    async def get(self, key: str) -> object:
        """Read a key."""
        return self.item(await self.etcd.get(self.prefix + key))

    async def range(self, prefix: str, start: str, limit: int, *, keys_only: bool) -> object:
        """List keys."""
        found = await self.etcd.range(
            self.prefix + prefix,
            start=self.prefix + start if start else "",
            limit=limit,
            keys_only=keys_only,
        )
        return [self.item(one) for one in found.items], found.more, self.revision(found.revision)

    async def grant(self) -> object:
        """Make a lease."""
        lease = await self.etcd.grant(TTL_S)
        self.leases.append(lease.lease_id)
        return lease.ttl_s

    async def keep_alive(self, number: int) -> object:
        """Renew a lease."""
        return (await self.etcd.keep_alive(self.lease(number))).ttl_s

    async def revoke(self, number: int) -> object:
        """Give a lease back, and look at what that has changed."""
        await self.etcd.revoke(self.lease(number))
        return self.revision(await self.now())

    async def compact(self, back: int) -> object:
        """Compact some revisions before the newest one; behind it if `back` is below 0."""
        await self.etcd.compact(await self.now() - back)
        return self.revision(await self.now())

    async def watch(self, prefix: str, back: int) -> object:
        """Return all changes from some revisions ago on."""
        mark = Put(self.prefix + prefix + MARK, b"")
        end = (await self.etcd.txn((), (mark,))).revision
        return await self._read(prefix, max(self.base + 1, end - back), end)

    async def watch_compacted(self, prefix: str, back: int, off: int) -> object:
        """Compact, and watch from the very revision, or one beside it."""
        start = await self.now() - back
        await self.etcd.compact(start)
        mark = Put(self.prefix + prefix + MARK, b"")
        end = (await self.etcd.txn((), (mark,))).revision
        return await self._read(prefix, max(self.base + 1, start + off), end)

    async def watch_ahead(self, prefix: str, ahead: int) -> object:
        """Watch from a revision that is still to come, write past it, and return the changes."""
        start = await self.now() + 1 + ahead
        reading = asyncio.ensure_future(self._read(prefix, start, start))
        await asyncio.sleep(0.02)
        for _ in range(ahead + 1):
            await self.etcd.txn((), (Put(self.prefix + prefix + MARK, b""),))
        return await reading

    async def _read(self, prefix: str, start: int, end: int) -> object:
        seen: list[WatchEvent] = []
        batches: Any = self.etcd.watch(self.prefix + prefix, start_revision=start)
        async with asyncio.timeout(WATCH_S):
            async for batch in batches:
                seen += batch
                if seen and seen[-1].item.mod_revision >= end:
                    break
        await batches.aclose()
        return [(change.kind, self.item(change.item)) for change in seen]


class Twins(RuleBasedStateMachine):
    """Each rule is one call of both, and both must say the same."""

    run_real: ClassVar[Callable[..., Any]]
    real_etcd: ClassVar[Etcd]

    def __init__(self) -> None:
        super().__init__()
        prefix = f"/twins/{uuid4().hex}/"
        self._virtual = virtual_loop()
        self._loop = self._virtual.__enter__()
        self._sim = self._run_sim(self._new_sim(prefix))
        found: Any = type(self).run_real(self.real_etcd.range(prefix, limit=1))
        self._real = Twin(self.real_etcd, prefix, found.revision)

    def teardown(self) -> None:
        """Give the leases back, so that nothing of this run happens later."""
        for number in range(len(self._real.leases)):
            type(self).run_real(self._real.revoke(number))
        self._virtual.__exit__(None, None, None)

    async def _new_sim(self, prefix: str) -> Twin:
        store = EtcdStore()
        etcd = SimEtcdClient(store, Process("twin", 1), NetworkFaults())
        return Twin(etcd, prefix, store.revision)

    def _run_sim(self, call: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - any call's
        return self._loop.run_until_complete(call)

    def both(self, call: Callable[[Twin], Coroutine[Any, Any, object]]) -> None:
        """Make a call of both, and compare results or errors."""
        real = type(self).run_real(_outcome(self._real, call))
        sim = self._run_sim(_outcome(self._sim, call))

        assert real == sim

    @rule(
        when=st.lists(guards, max_size=3),
        success=st.lists(steps, max_size=4),
        failure=st.lists(steps, max_size=3),
    )
    def txn(self, when: list[Guard], success: list[Step], failure: list[Step]) -> None:
        """Transactions: what they compare, write, read, and refuse to do twice."""
        self.both(lambda twin: twin.txn(when, success, failure))

    @rule(key=names, value=st.sampled_from((b"x", b"y")), lease=st.none() | numbers)
    def put(self, key: str, value: bytes, lease: int | None) -> None:
        """A plain write, so that there is something to see."""
        step = Step(kind="put", key=key, value=value, lease=lease)
        self.both(lambda twin: twin.txn((), (step,), ()))

    @rule(key=names)
    def delete(self, key: str) -> None:
        """A plain delete."""
        self.both(lambda twin: twin.txn((), (Step(kind="delete", key=key),), ()))

    @rule(count=st.integers(126, 130), kind=st.sampled_from(("put", "get", "delete", "compare")))
    def large_txn(self, count: int, kind: Kind | Literal["compare"]) -> None:
        """As many operations as there may be, and more."""
        keys = [f"large/{number}" for number in range(count)]
        if kind == "compare":
            when = [Guard(key=key, target="version", right=True, off=0) for key in keys]
            self.both(lambda twin: twin.txn(when, (), ()))
        else:
            many = [Step(kind=kind, key=key) for key in keys]
            self.both(lambda twin: twin.txn((), many, ()))

    @rule(key=names)
    def get(self, key: str) -> None:
        """Single keys."""
        self.both(lambda twin: twin.get(key))

    @rule(
        prefix=prefixes,
        start=st.sampled_from(("", *NAMES, "a/1\0")),
        limit=st.integers(0, 3),
        keys_only=st.booleans(),
    )
    def range(self, prefix: str, start: str, limit: int, *, keys_only: bool) -> None:
        """Lists of keys, in pages."""
        self.both(lambda twin: twin.range(prefix, start, limit, keys_only=keys_only))

    @rule()
    def grant(self) -> None:
        """New leases."""
        self.both(lambda twin: twin.grant())

    @rule(number=numbers)
    def keep_alive(self, number: int) -> None:
        """Leases in force, given back, and never granted."""
        self.both(lambda twin: twin.keep_alive(number))

    @rule(number=numbers)
    def revoke(self, number: int) -> None:
        """The same; keys go with them, in one revision."""
        self.both(lambda twin: twin.revoke(number))

    @rule(back=st.integers(-2, 12))
    def compact(self, back: int) -> None:
        """Old, newest and future revisions, twice too."""
        self.both(lambda twin: twin.compact(back))

    @rule(prefix=prefixes, back=st.integers(0, 25))
    def watch(self, prefix: str, back: int) -> None:
        """What was, as far back as it is kept."""
        self.both(lambda twin: twin.watch(prefix, back))

    @rule(prefix=prefixes, back=st.integers(0, 3), off=st.integers(-1, 1))
    def watch_compacted(self, prefix: str, back: int, off: int) -> None:
        """Where exactly history ends, and what is left of the revision there."""
        self.both(lambda twin: twin.watch_compacted(prefix, back, off))

    @rule(prefix=prefixes, ahead=st.integers(0, 3))
    def watch_ahead(self, prefix: str, ahead: int) -> None:
        """What is to come, from a revision on that is not there yet."""
        self.both(lambda twin: twin.watch_ahead(prefix, ahead))


async def _outcome(twin: Twin, call: Callable[[Twin], Coroutine[Any, Any, object]]) -> object:
    """Return what a call returns, or what kind of error it ends with."""
    try:
        return await call(twin)
    except Compacted as error:
        return "Compacted", twin.revision(error.revision)
    except DormError as error:
        return type(error).__name__


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Twins]]:
    """The machine on a real server of its own, where nobody else moves the revision."""
    server = EtcdCluster.start(find_binary(), data_dir=tmp_path_factory.mktemp("twin"), fsync=False)
    with asyncio.Runner() as runner:

        async def client() -> Any:  # noqa: ANN401 - a real client, which can be closed
            return connect(server.endpoints)

        etcd = runner.run(client())

        class Machine(Twins):
            run_real = staticmethod(runner.run)
            real_etcd = etcd

        yield Machine
        runner.run(etcd.close())
    server.stop()


@pytest.mark.etcd
def test_the_simulated_etcd_does_what_the_real_one_does(machine: type[Twins]) -> None:
    """A simulation on another etcd than the real one would prove nothing."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=RUNS,
            stateful_step_count=STEPS,
            derandomize=True,
            deadline=None,
            database=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )
