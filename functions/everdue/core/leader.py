"""One process's side of the claim: taking it, confirming it, committing on it, letting it go."""

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from everdue.core.claim import Claim, ClaimStore, Milestone, MilestoneStore, ServiceClock
from everdue.core.clock import Clock
from everdue.core.errors import ClaimFailed, ClaimLost, ClockSkewed, EverdueError
from everdue.core.leadership import SKEW_US_MAX, Step, decide
from everdue.core.moment import EPOCH, SECOND_US, from_us, to_us, us_to_seconds

MILESTONE_US = 300 * SECOND_US
"""How old the record grows that a lost claim resumes from: about the most that such a loss can repeat."""


class Standing(Enum):
    """Where this process stands after an election."""

    FOLLOWS = "follows"
    LEADS = "leads"
    """And nobody else wrote the claim since it last did."""
    TOOK_OVER = "took over"
    """Somebody else wrote it last, or nobody: everything known about coverage has to be judged anew."""


class Leader:
    """Holds the claim for one process, by revision.

    Attributes:
        trusted: the store answered last time, and did not show this machine's clock to be wrong.
        claim: as this process wrote or kept it last; None while it knows of none of its own.
        lease_until_us: the moment to which every lease reaches, where the owner knows its own end; None: each lease
            lasts `lease_us` from its renewal.
    """

    def __init__(self, store: ClaimStore, token: str, clock: Clock, lease_us: int,
                 warn: Callable[[Exception, str], None]) -> None:  # fmt: skip
        self._store = store
        self._token = token
        self._clock = clock
        self._lease_us = lease_us
        self._warn = warn
        self._milestone_us: int | None = None
        self._memory: Claim | None = None
        self.trusted = False
        self.claim: Claim | None = None
        self.lease_until_us: int | None = None

    @property
    def covered_us(self) -> int:
        """The committed watermark."""
        assert self.claim is not None  # noqa: S101 - asked by leaders alone
        assert self.claim.covered_until is not None  # noqa: S101 - every write of ours carries it
        return to_us(self.claim.covered_until)

    @property
    def synced_us(self) -> int | None:
        """Up to where the source was read by whoever committed that coverage."""
        if self.claim is None or self.claim.synced_until is None:
            return None
        return to_us(self.claim.synced_until)

    @property
    def skew_us(self) -> int:
        """How far this machine's clock is ahead of the service's at least; 0 where the store can't tell."""
        return (self._store.skew_us() or 0) if isinstance(self._store, ServiceClock) else 0

    def elect(self, cut_us: int | None) -> Standing:
        """Keep, renew or take the claim, or follow. `cut_us` is when this process read the source, for a first claim.

        Raises ClaimFailed when the claim can't be read or it is unknown whether it was written.
        """
        stored = self._store.load()
        now_us = to_us(self._clock.now())
        if self._skewed() or (self.lease_until_us is not None and now_us >= self.lease_until_us):
            return Standing.FOLLOWS
        mine = None if self.claim is None else self.claim.revision
        step = decide(stored, mine, now_us, self._enough_us(now_us))
        if step is Step.WAIT:
            return Standing.FOLLOWS
        if step is Step.KEEP:
            self.claim = stored
            return Standing.LEADS
        carried = self._carried(stored, now_us, cut_us)
        if stored is None and carried.covered_until is not None:
            # Before the claim, not after: a crash between the two must not leave one whose loss looks like a first run.
            synced_us = None if carried.synced_until is None else to_us(carried.synced_until)
            self._save_milestone(to_us(carried.covered_until), synced_us)
        if not self._swap(stored, replace(carried, token=self._token, expires_at=from_us(self._lease_end_us(now_us)))):
            return Standing.FOLLOWS
        return Standing.LEADS if step is Step.RENEW else Standing.TOOK_OVER

    def confirm(self) -> bool:
        """Whether this process still leads, its lease renewed if it runs low. Never takes a claim.

        Raises ClaimFailed as `elect` does.
        """
        stored = self._store.load()
        now_us = to_us(self._clock.now())
        skewed = self._skewed()
        if skewed or self.claim is None or stored is None or stored.revision != self.claim.revision:
            return False
        if to_us(stored.expires_at) <= now_us or not stored.token:
            return False
        if to_us(stored.expires_at) >= self._enough_us(now_us):
            self.claim = stored
            return True
        return self._swap(stored, replace(stored, expires_at=from_us(self._lease_end_us(now_us))))

    def commit(self, covered_us: int, synced_us: int | None, position: str | None, *, release: bool) -> bool:
        """Move the watermark and renew the lease, or let it go, in one write. False: deposed, nothing was written.

        Raises ClaimFailed when it is unknown whether it was written.
        """
        if self.claim is None:
            return False
        now_us = to_us(self._clock.now())
        expires_at = EPOCH if release else from_us(self._lease_end_us(now_us))
        synced_until = None if synced_us is None else from_us(synced_us)
        token = "" if release else self._token
        if not self._swap(self.claim, Claim(token, expires_at, from_us(covered_us), synced_until, 0, position)):
            return False
        self._save_milestone(covered_us, synced_us)
        return True

    def holds(self) -> bool:
        """Whether this process last wrote a claim that names it, and has not let it go since."""
        return self.claim is not None and bool(self.claim.token)

    def lease_left_us(self) -> int:
        """How long this process's last known lease goes on."""
        return 0 if self.claim is None else to_us(self.claim.expires_at) - to_us(self._clock.now())

    def _swap(self, expected: Claim | None, following: Claim) -> bool:
        following = replace(following, revision=(0 if expected is None else expected.revision) + 1)
        try:
            swapped = self._store.swap(expected, following)
        except ClaimFailed:
            self._memory = following  # it may have happened, and then the claim may be lost before it is seen again
            raise
        if not swapped:
            self.claim = None
            return False
        self.claim = self._memory = following
        return True

    def _carried(self, stored: Claim | None, now_us: int, cut_us: int | None) -> Claim:
        """What the next claim takes over from the stored one, or from the milestone where that is gone."""
        if stored is not None:
            return stored if stored.covered_until is not None else replace(stored, covered_until=from_us(now_us))
        milestone = self._store.load_milestone() if isinstance(self._store, MilestoneStore) else None
        memory = self._memory
        if memory is not None and memory.covered_until is not None and (
            milestone is None or milestone.covered_until < memory.covered_until
        ):  # fmt: skip
            milestone = Milestone(memory.covered_until, memory.synced_until)
        if milestone is None:  # the first run ever: it starts now
            self._milestone_us = None
            return Claim("", EPOCH, from_us(now_us), from_us(now_us if cut_us is None else cut_us))
        self._warn(ClaimLost(f"the claim is gone although this shard has run: coverage resumes at its last record, "
                             f"{milestone.covered_until.isoformat()}"), "claim")  # fmt: skip
        return Claim("", EPOCH, milestone.covered_until, milestone.synced_until)

    def _save_milestone(self, covered_us: int, synced_us: int | None) -> None:
        if not isinstance(self._store, MilestoneStore):
            return
        if self._milestone_us is not None and covered_us - self._milestone_us < MILESTONE_US:
            return
        try:
            self._store.save_milestone(
                Milestone(from_us(covered_us), None if synced_us is None else from_us(synced_us))
            )
        except EverdueError as error:
            # Reported, not raised: a late milestone costs repeats after a second fault, a stopped tick costs runs.
            self._warn(error, "milestone")
            return
        self._milestone_us = covered_us

    def _enough_us(self, now_us: int) -> int:
        # Half a lease of slack: one extra write per lease, not one per look.
        return now_us + self._lease_us // 2 if self.lease_until_us is None else self.lease_until_us - SECOND_US

    def _lease_end_us(self, now_us: int) -> int:
        return now_us + self._lease_us if self.lease_until_us is None else self.lease_until_us

    def skew(self) -> ClockSkewed | None:
        """What is wrong with this machine's clock, by the last answer; None: nothing, or the store can't tell."""
        skew_us = self.skew_us
        if abs(skew_us) <= SKEW_US_MAX:
            return None
        return ClockSkewed(
            f"this machine's clock is {us_to_seconds(skew_us):+.1f} s off the service's: beyond "
            f"{us_to_seconds(SKEW_US_MAX):.0f} s it neither leads nor reads what is to be scheduled"
        )

    def _skewed(self) -> bool:
        skewed = self.skew()
        self.trusted = skewed is None
        if skewed is not None:
            self._warn(skewed, "clock")
        return not self.trusted
