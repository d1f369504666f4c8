"""`Cron` against other people's arithmetic, 20,000 questions; `prove_triggers.py` asks a million."""

from collections import Counter

import pytest
from trigger_differential import LISTED, disagreement, question

QUESTIONS = 20_000
PARTS = 7  # no divisor of the oracle's share, so that each part has its like


@pytest.mark.parametrize("part", range(PARTS))
def test_cron_agrees_with_cronsim_and_with_a_minute_by_minute_oracle(part: int) -> None:
    """Two independent readers of one dialect seldom share a mistake. What differs is listed, with its reason."""
    found = [answer for seed in range(part, QUESTIONS, PARTS) if (answer := disagreement(question(seed)))]
    assert [text for reason, text in found if not reason] == []
    assert set(Counter(reason for reason, _ in found)) <= set(LISTED)
