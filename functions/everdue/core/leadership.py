"""Who leads: a pure decision over the claim, this process's memory of it, and the time."""

from enum import Enum

from everdue.core.claim import Claim
from everdue.core.moment import to_us

SKEW_US_MAX = 2_000_000
"""How far this machine's clock may be off the service's while leading, and how long a lease outlives its owner: kills
come up to 0.7 s after the deadline that they enforce."""


class Step(Enum):
    """What a process may do about the claim that it just read."""

    KEEP = "keep"
    """I hold it, with time to spare."""
    RENEW = "renew"
    """I hold it and nobody wrote since, but its lease needs more time."""
    TAKE = "take"
    """It is free, and somebody else wrote it last, or nobody ever."""
    WAIT = "wait"
    """Somebody else holds it."""


def decide(claim: Claim | None, mine: int | None, now_us: int, enough_us: int) -> Step:
    """What to do about `claim`.

    Args:
        claim: as it is stored.
        mine: the revision that this process wrote or kept last, if any.
        now_us: the time.
        enough_us: a lease that reaches to here needs no renewal.

    The revision says whose claim it is, not the token: two processes may share a token (an environment variable, a
    fork), and the same token back after a release and a takeover would pass for never having left.
    """
    if claim is None:
        return Step.TAKE
    expires_us = to_us(claim.expires_at)
    if claim.revision == mine:
        return Step.KEEP if claim.token and expires_us >= enough_us else Step.RENEW
    if not claim.token or expires_us <= now_us:
        return Step.TAKE
    return Step.WAIT
