"""Doubles of every port, shipped so that users can test their own schedules without AWS and without waiting."""

from everdue.testing.claim_memory import MemoryClaimStore
from everdue.testing.clock_manual import ManualClock
from everdue.testing.dispatcher_memory import MemoryDispatcher, Sent
from everdue.testing.metrics_memory import Measurement, MemoryMetrics
from everdue.testing.skip_log_memory import MemorySkipLog
from everdue.testing.source_memory import MemorySource

__all__ = [
    "ManualClock",
    "Measurement",
    "MemoryClaimStore",
    "MemoryDispatcher",
    "MemoryMetrics",
    "MemorySkipLog",
    "MemorySource",
    "Sent",
]
