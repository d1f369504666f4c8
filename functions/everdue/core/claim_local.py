"""The claim of a process that is alone: kept in memory, gone with it."""

from dataclasses import replace

from everdue.core.claim import Claim


class LocalClaimStore:
    """A claim store for one process, and for the schedulers inside it."""

    def __init__(self) -> None:
        self._claim: Claim | None = None

    def load(self) -> Claim | None:
        """The claim as it is stored."""
        return self._claim

    def swap(self, expected: Claim | None, next: Claim) -> bool:  # noqa: A002 - the port's fixed name
        """Replace the claim if its revision is still the expected one."""
        stored = None if self._claim is None else self._claim.revision
        if stored != (None if expected is None else expected.revision):
            return False
        self._claim = replace(next, revision=(stored or 0) + 1)
        return True
