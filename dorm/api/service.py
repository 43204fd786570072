"""What the API can ask of a master: a few writes to the log, and reads of the view.

Any master answers, leader or not: a submit is an event like any other, and every master folds the
same log. A write is answered when this master's own view has it, so users read what they wrote.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import attrs

from dorm.api import admission, policy, shapes
from dorm.api.answers import AppPage, AppRow, Events, NodeRow, Policy, Status, Why
from dorm.api.changes import Change, app_changed
from dorm.api.lookup import find_app, find_node
from dorm.api.present import in_time, writing
from dorm.api.view import View
from dorm.doctor import Finding
from dorm.failpoints import point
from dorm.ports import Clock, Randomness
from dorm.store import StoreMark
from events.apps import (
    AppCancelRequested,
    AppSpec,
    AppSubmitted,
    AppUnquarantined,
)
from events.catalog import Event
from events.errors import Archived, Conflict, Corrupt, Full
from events.log import EventLog, Page, Receipt
from events.nodes import NodeForgotten
from events.policy import LayoutConfigured
from events.recorded import Recorded, Stamp
from events.snapshot import dump, state_hash
from events.state import App, ClusterState
from reconcilers import foresight, pending

TOKEN_LENGTH: Final = 5
EVENTS_PER_PAGE_MAX: Final = 1000


@attrs.frozen(kw_only=True)
class Service:
    """One master's answers to its users.

    Every method that names an application takes an id, the beginning of one, or a name, and
    raises `NotFound` or `Conflict` when that means none or several. Every write may raise
    `Unavailable`, and may then be repeated safely.

    Attributes:
        name: Of the master.
        log: The API's own, apart from the leader's, so that neither has to settle the other's
            writes.
        findings: What `dorm doctor` shows.
    """

    name: str
    log: EventLog
    clock: Clock
    randomness: Randomness
    view: View
    findings: Callable[[], Awaitable[Sequence[Finding]]]

    # Writes

    async def submit(self, spec: AppSpec, *, key: str, user: str) -> Receipt:
        """Accept an application once per idempotency key.

        Raises:
            Conflict: The key was used for another application.
            Full: There is too little room in etcd for a new one.
        """
        app_id = f"{spec.name}-{self.randomness.token(TOKEN_LENGTH)}"
        event, stamp = AppSubmitted(app_id=app_id, spec=spec), self._stamp(user, f"submit {key}")
        async with writing(self.view, [event]):
            try:
                admission.check_submit(self.view.space())
            except Full:  # Whoever repeats a submit that was accepted must hear so all the same.
                first = await self.log.receipt(event, key=key)
                if first is None:
                    raise
                return first
            receipt = await self.log.submit(event, key=key, stamp=stamp)
            point("api.submit.written")
            await self.view.wait_for(receipt.revision)
        return receipt

    async def cancel(self, wanted: str, *, user: str) -> App:
        """Ask for the end of an application. Asking twice is no error.

        Raises:
            Conflict: It has already ended in another way.
        """
        app = find_app(self.view.state(), wanted)
        if app.outcome and app.outcome.kind != "cancelled":
            raise _ended(app)
        if not app.cancel_requested:
            await self._append([AppCancelRequested(app_id=app.app_id)], user, "cancel")
        return self._again(app)

    async def change(self, wanted: str, change: Change, *, user: str) -> App:
        """Set a new weight, bounds or priority.

        Raises:
            Rejected: They are not possible.
            Conflict: The application has ended, or would lose every container that it has.
            Full: There is too little room in etcd.
        """
        admission.check_change(self.view.space(), "set")
        app = find_app(self.view.state(), wanted)
        if app.outcome:
            raise _ended(app)
        event = app_changed(app, change)
        if foresight.would_stop(self.view.state(), event):
            raise Conflict(
                f"is more than there is room for now, so {app.app_id} would be stopped",
                field="min",
                value=str(event.scale.min if event.scale else app.spec.scale.min),
                hint="give a smaller min, or make room first; see dorm nodes",
            )
        await self._append([event], user, "set")
        return self._again(app)

    async def retry(self, wanted: str, *, user: str) -> App:
        """Have layouts decided with a quarantined application again.

        Raises:
            Conflict: It is not quarantined.
            Full: There is too little room in etcd.
        """
        admission.check_change(self.view.space(), "retry")
        app = find_app(self.view.state(), wanted)
        if not app.quarantine:
            raise Conflict(
                "is not quarantined",
                field="app",
                value=app.app_id,
                hint=f"see what it waits for with dorm why {app.app_id}",
            )
        await self._append([AppUnquarantined(app_id=app.app_id)], user, "retry")
        return self._again(app)

    async def set_policy(self, wanted: object, *, user: str) -> None:
        """Set some of the rules of layouts. What is so already is not set again.

        Raises:
            Rejected: They are not possible.
            Full: There is too little room in etcd.
        """
        admission.check_change(self.view.space(), "policy")
        old = self.view.state().rules
        rules = policy.new_rules(old, wanted)
        if rules != old:
            await self._append([LayoutConfigured(rules=rules)], user, "policy")

    async def forget_node(self, node_id: str, *, user: str) -> None:
        """Take an operator's word that a lost node is off for good.

        Raises:
            NotFound: There is no such node.
            Conflict: It is not lost, or on its way to be fenced off.
        """
        node = find_node(self.view.state(), node_id)
        if not node.lost:
            raise Conflict(
                "is not lost",
                field="node",
                value=node_id,
                hint="stop its agent and its containers first, and wait until dorm nodes says lost",
            )
        if node.report.tenure and not node.fenced:
            raise Conflict(
                "is lost, and not fenced off yet",
                field="node",
                value=node_id,
                hint="masters fence it off within seconds, unless they reach it and etcd does not; "
                "wait until dorm nodes says fenced",
            )
        await self._append([NodeForgotten(node_id=node_id)], user, "forget")

    async def new_epoch(self, *, after: int, user: str) -> StoreMark:
        """Take an operator's word for a store that was restored from a backup.

        Raises:
            Conflict: The store is not in the epoch `after`, perhaps because it was begun already.
        """
        async with in_time():  # A master that holds is the very one to ask.
            return await self.view.begin_epoch(after=after, stamp=self._stamp(user, "new epoch"))

    # Reads

    def apps(self, *, finished: bool) -> list[AppRow]:
        """Return the unfinished applications, and the finished ones too when asked."""
        state, statuses = self.view.state(), self.view.statuses()
        wanted = (*(state.finished.values() if finished else ()), *state.apps.values())
        rows = [shapes.app_row(app, statuses) for app in wanted]
        return sorted(rows, key=lambda row: (row["submitted_revision"], row["id"]))

    def app(self, wanted: str) -> AppPage:
        """Return everything about one application."""
        return shapes.app_page(find_app(self.view.state(), wanted), self.view.statuses())

    def why(self, wanted: str) -> Why:
        """Return why the application is in the phase it is in, with numbers and a way out."""
        state, statuses = self.view.state(), self.view.statuses()
        app = find_app(state, wanted)
        reason = pending.explain(state, app.app_id)
        held = shapes.held_of(app, statuses)
        return {
            "id": app.app_id,
            "phase": app.phase,
            "revision": state.revision,
            "code": reason.code,
            "message": reason.message,
            "hint": reason.hint,
            "numbers": dict(reason.numbers),
            "held": held,
        }

    def nodes(self) -> list[NodeRow]:
        """Return every node that is not forgotten."""
        state, statuses = self.view.state(), self.view.statuses()
        return [shapes.node_row(node, state, statuses) for _, node in sorted(state.nodes.items())]

    def policy(self) -> Policy:
        """Return the rules of layouts, and how good the newest decision is."""
        return policy.page(self.view.state())

    async def events(self, *, after: int, limit: int) -> Events:
        """Return the events behind revision `after`; read on from `next`.

        A revision's events are never split over pages, so a page may exceed `limit` by some. From
        revision 0 on means from where the log begins; what was before is in the archive.

        Raises:
            Archived: They are not all in the log any more.
            Conflict: The log does not reach that far, so the reader's cursor is of another one.
        """
        try:
            page = await self._page(after)
        except Corrupt as error:
            if after <= self.view.state().revision:
                raise
            hint = "begin again with after=0; the log is another one, or was restored from a backup"
            rule = "lies behind the end of the log"
            raise Conflict(rule, field="after", value=str(after), hint=hint) from error
        some = _whole_revisions(page.recorded, limit)
        cut = len(some) < len(page.recorded)
        return {
            "events": [shapes.event_row(recorded) for recorded in some],
            "next": some[-1].revision if cut else page.through,
            "at_end": page.at_end and not cut,
        }

    def status(self) -> Status:
        """Return how the cluster and this master are."""
        state = self.view.state()
        return {
            "master": self.name,
            "is_leader": self.view.is_leader(),
            "leader": state.leader,
            "epoch": state.epoch,
            "healthy": self.view.healthy(),
            "hold": self.view.hold(),
            "alarms": list(self.view.alarms()),
            "store_epoch": self.view.store_epoch(),
            "unsettled": list(state.unsettled),
            "revision": state.revision,
            "state_hash": state_hash(state),
            "ignored": dict(sorted(state.ignored.items())),
            "space": shapes.space(self.view.space()),
            **shapes.cluster_summary(state),
        }

    def state(self) -> ClusterState:
        """Return the newest state that this master has folded."""
        return self.view.state()

    def state_bytes(self) -> bytes:
        """Return the whole state as JSON; the sha256 of these bytes is the state hash."""
        return dump(self.view.state())

    async def _page(self, after: int) -> Page:
        try:
            return await self.log.read(after=after)
        except Archived as gone:
            if after:
                raise
            return await self.log.read(after=gone.revision)

    def _stamp(self, user: str, cause: str) -> Stamp:
        return Stamp(at_ms=self.clock.now_ms(), actor=f"user/{user}", cause=cause)

    async def _append(self, events: Sequence[Event], user: str, cause: str) -> None:
        async with writing(self.view, events):
            revision = await self.log.append(events, stamp=self._stamp(user, cause))
            point("api.change.written")
            await self.view.wait_for(revision)

    def _again(self, app: App) -> App:
        return self.view.state().app(app.app_id) or app


def _ended(app: App) -> Conflict:
    return Conflict(
        f"has already {app.phase}" if app.phase == "failed" else f"is already {app.phase}",
        field="app",
        value=app.app_id,
        hint="submit its spec again to start it anew",
    )


def _whole_revisions(recorded: tuple[Recorded, ...], limit: int) -> tuple[Recorded, ...]:
    if len(recorded) <= limit:
        return recorded
    last = recorded[limit - 1].revision
    return tuple(one for one in recorded if one.revision <= last)
