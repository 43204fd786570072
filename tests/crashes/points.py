"""At which fail points real processes crash here."""

from typing import Final

OF_A_START: Final = (
    "agent.memory.unwritten",
    "agent.register.written",
    "agent.create.created",
    "agent.start.started",
    "agent.started.remembered",
)
OF_AN_END: Final = ("agent.exit.remembered", "agent.outbox.sent")
OF_A_REMOVAL: Final = ("files.write.unpublished", "agent.remove.log_saved", "agent.remove.removed")
AGENT: Final = (*OF_A_START, *OF_AN_END, *OF_A_REMOVAL)

OF_A_TERM: Final = (
    "leader.campaign.granted",
    "leader.campaign.won",
    "term.election.written",
    "log.append.written",
)
OF_A_WRITE: Final = ("api.submit.written", "api.change.written")
MASTER: Final = (*OF_A_TERM, *OF_A_WRITE)

PLANNER: Final = ("planner.request.read", "planner.answer.unwritten")
