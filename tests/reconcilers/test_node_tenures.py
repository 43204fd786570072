"""Containers that were made under another tenure of the node: they are over, whatever is wanted."""

from reconcilers.node import Create, Kill, SaveLogsAndRemove, plan
from tests.reconcilers.test_node import KEY, document, observed, seen, wanted

NAME = "a-g1-w0"


def test_what_is_left_of_another_tenure_is_killed_and_cleared_away() -> None:
    """The log counts it as gone, and something else may run in its place by now."""
    nothing = document()

    assert plan(nothing, observed(seen("running", tenure="t1"), tenure="t2")) == (
        Kill(key=KEY, name=NAME),
    )
    assert plan(nothing, observed(seen("exited", tenure="t1"), tenure="t2")) == (
        SaveLogsAndRemove(key=KEY, name=NAME),
    )


def test_a_wanted_container_waits_until_what_has_its_name_is_gone() -> None:
    """It is neither lost, though it was started, nor to be made beside the other one."""
    started = document(wanted(started=True))
    stray = seen("running", tenure="t1")

    assert plan(started, observed(stray, tenure="t2")) == (Kill(key=KEY, name=NAME),)
    assert plan(document(wanted()), observed(tenure="t2")) == (
        Create(wanted=wanted(), revision=10),
    )
