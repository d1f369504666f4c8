"""A scheduler's durations, as the cycle counts them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """A scheduler's durations, in microseconds."""

    tick_us: int
    sync_us: int
    lead_us: int
    recover_us: int
    horizon_us: int
    lease_us: int
