"""What the control plane's own events change."""

from events.control import LeaderElected, SegmentSealed, StoreEpochBegan
from events.draft import Draft, Senseless


def leader_elected(draft: Draft, event: LeaderElected) -> None:
    """Take the new leader. Epochs only grow, so an older one is a late word."""
    if event.epoch < draft.epoch:
        raise Senseless("leader of an older epoch")
    draft.leader, draft.epoch = event.master, event.epoch


def segment_sealed(draft: Draft, event: SegmentSealed) -> None:
    """Remember the newest seal, which the next one names."""
    if event.segment <= draft.sealed_segment:
        raise Senseless("segment is already sealed")
    draft.seal, draft.sealed_segment = event.sha256, event.segment


def store_epoch_began(draft: Draft, event: StoreEpochBegan) -> None:
    """Take the new epoch: documents carry it from here on, and agents obey them again."""
    if event.epoch <= draft.store_epoch:
        raise Senseless("store epoch has begun before")
    draft.store_epoch = event.epoch
    told = (name.removeprefix("node/") for name in event.witnesses if name.startswith("node/"))
    draft.unsettled = dict.fromkeys(sorted({*draft.nodes, *told}), event.epoch)
