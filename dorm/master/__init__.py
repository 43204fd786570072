"""A master: follows the log, serves the API and, while it leads, carries out the reconcilers.

Any number run side by side. Each folds the whole log; one leads. Every write of the leader is
guarded by its epoch, so a master that was paused past its lease changes nothing when it wakes.
"""
