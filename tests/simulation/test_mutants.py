"""Protections switched off, one at a time: each must be missed. It proves that the checker bites.

Random faults come upon most of them within some seeds. The others have a trap each: a scenario that
is harmless to a sound cluster, which is tested too.

What the simulation cannot miss yet, for something else protects the cluster as well:

| switched off | what else holds |
|---|---|
| the tenure or the node key in a beat, or both | each other; the lease that it writes under |
| deadlines from the sending of a beat | beats last 1.5 s at most; the wait has as much to spare |
| a gap starts a leader's timers anew | after most gaps its lease is over, and with it the timers |
| an agent does nothing while its right has lapsed | what it starts is frozen from the start |
| a new tenure waits until the old one is cleared | a warden kills within 0.25 s |
| a document is for one tenure | masters empty it before the new tenure can read it, mostly |
| a leader keeps its word | it gives none any more once the log has the expulsion |
| a report of another tenure closes the old one | the expulsion and its wait; see tests/events |

The seventh is missed once what else holds is switched off too ("faithless"). The first was ("free
beats", without its lease), until agents looked at the store's history as well. The others are
defence in depth that only unit tests guard.
"""

import pytest

from tests.simulation import insiders, mutants, traps
from tests.simulation.cluster import SOUND, Parts
from tests.simulation.simulation import Script, run_script, run_seed

SEEDS_MAX = 60
TRIES_MAX = 20


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        pytest.param(Parts(etcd=mutants.NoFence), " leads", id="no fence"),
        pytest.param(Parts(etcd=mutants.NoCursor), "written twice", id="no cursor"),
        pytest.param(Parts(etcd=mutants.NoOnceKey), "I1", id="no idempotency key"),
        pytest.param(Parts(etcd=mutants.NoSegmentGuard), "I7", id="no segment guard"),
        pytest.param(Parts(etcd=mutants.NoDocumentGuard), "I5", id="no document guard"),
        pytest.param(Parts(etcd=mutants.LossyWatch), "I6", id="lossy watch"),
        pytest.param(Parts(docker=mutants.BlindDocker), "I2", id="no adoption"),
        pytest.param(Parts(docker=mutants.EarlyDocker), "I2", id="early exit"),
        pytest.param(Parts(etcd=mutants.OnePhase), "I7", id="one phase"),
    ],
)
def test_a_protection_that_is_switched_off_is_missed(parts: Parts, sentence: str) -> None:
    """A simulation that passes without a protection does not test it."""
    for seed in range(SEEDS_MAX):
        result = run_seed(seed, parts=parts)
        if any(sentence in violation for violation in result.violations):
            return
    pytest.fail(f"{SEEDS_MAX} seeds, and nothing was noticed")


@pytest.mark.parametrize(
    ("parts", "trap", "sentence"),
    [
        pytest.param(
            Parts(warden=insiders.NoWarden), traps.cut_off, "called fenced", id="no warden"
        ),
        pytest.param(
            Parts(etcd=mutants.MuteEtcd), traps.cut_off, "called fenced", id="always extended"
        ),
        pytest.param(
            Parts(etcd=mutants.NoWait), traps.revoked_and_cut_off, "called fenced", id="no wait"
        ),
        pytest.param(
            Parts(master=insiders.FaithlessMaster),
            traps.only_masters_reach_it,
            "called fenced",
            id="faithless",
        ),
        pytest.param(
            Parts(master=insiders.RashMaster),
            traps.a_stranger_leads,
            "called fenced",
            id="stranger",
        ),
        pytest.param(
            Parts(agent=insiders.RevivingAgent),
            traps.back_in_an_outage,
            "thawed",
            id="revived",
        ),
        pytest.param(
            Parts(etcd=mutants.LateEndsOfPresent),
            traps.back_before_the_end,
            "I8",
            id="end of a node that is back",
        ),
        pytest.param(
            Parts(files=mutants.ForgetfulFiles), traps.pruned, "started twice", id="forgetful"
        ),
    ],
)
def test_a_protection_that_is_switched_off_springs_its_trap(
    parts: Parts, trap: Script, sentence: str
) -> None:
    """It alone stood between the cluster and this violation, at the latest by chance."""
    for seed in range(1, TRIES_MAX):
        result = run_script(seed, trap, parts=parts)
        if any(sentence in violation for violation in result.violations):
            return
    pytest.fail(f"{TRIES_MAX} tries, and nothing was noticed")


@pytest.mark.parametrize(
    ("parts", "trap"),
    [
        pytest.param(Parts(etcd=mutants.NoTenureInBeats), traps.stopped, id="tenure in beats"),
        pytest.param(Parts(etcd=mutants.NoNodeInBeats), traps.stopped, id="node in beats"),
        pytest.param(Parts(etcd=mutants.NothingInBeats), traps.stopped, id="keys in beats"),
        pytest.param(Parts(etcd=mutants.NoGuardInBeats), traps.stopped, id="free beats"),
        pytest.param(Parts(warden=insiders.LatePermit), traps.stopped, id="late deadlines"),
        pytest.param(
            Parts(master=insiders.NoGapMaster),
            traps.an_outage_after_the_end,
            id="no gap rule",
        ),
        pytest.param(Parts(agent=insiders.LawlessAgent), traps.cut_off, id="acts without right"),
        pytest.param(
            Parts(warden=insiders.NeverWaitsToBeEmpty),
            traps.cut_off,
            id="registers too early",
        ),
        pytest.param(Parts(etcd=mutants.AnyTenuresDocument), traps.cut_off, id="any document"),
    ],
)
def test_a_second_protection_holds(parts: Parts, trap: Script) -> None:
    """Defence in depth. One that fails here is no news, but belongs to the mutants above then."""
    result = run_script(1, trap, parts=parts)

    assert result.violations == (), result.report()


@pytest.mark.parametrize(
    ("parts", "trap"),
    [
        (SOUND, traps.cut_off),
        (SOUND, traps.revoked_and_cut_off),
        (SOUND, traps.stopped),
        (SOUND, traps.only_masters_reach_it),
        (SOUND, traps.a_stranger_leads),
        (SOUND, traps.an_outage_after_the_end),
        (SOUND, traps.back_in_an_outage),
        (Parts(etcd=mutants.LateEnds), traps.back_before_the_end),
        (SOUND, traps.pruned),
    ],
)
def test_a_sound_cluster_springs_no_trap(parts: Parts, trap: Script) -> None:
    """So it is the missing protection that does."""
    result = run_script(1, trap, parts=parts)

    assert result.violations == (), result.report()
