"""What an agent says of the present: written often, under its lease, never an event."""

from collections.abc import Mapping

import attrs


@attrs.frozen(kw_only=True)
class Progress:
    """How far a training is, as rank 0 last wrote it into its progress file.

    Attributes:
        total: The last step there will be, when the application knows it.
    """

    generation: int
    step: int
    total: int | None = None
    loss: float | None = None


@attrs.frozen(kw_only=True)
class NodeStatus:
    """The value of an agent's status key.

    Attributes:
        document_revision: Of the desired document that the agent works by.
        alarm: Why the agent obeys nothing, see `dorm.agent.history`; empty when it does.
        masters_revision: Of the list of masters that the agent knows.
        progress: By application id, for applications whose rank 0 is on this node.
        held: Why the node cannot make a container yet, by its name: its image is not to be had
            now, or there is too little room on a disk.
    """

    node_id: str
    incarnation: str
    document_revision: int = 0
    alarm: str = ""
    masters_revision: int = 0
    progress: Mapping[str, Progress] = attrs.field(factory=dict)
    held: Mapping[str, str] = attrs.field(factory=dict)
