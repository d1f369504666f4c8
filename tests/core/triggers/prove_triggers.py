"""The long differential run: `python tests/core/triggers/prove_triggers.py --comparisons 1000000`.

Seeded and resumable: question n is the same question on every machine, and `--first n` goes on from it.
"""

import argparse
import sys
import time
from collections import Counter
from multiprocessing import Pool

from trigger_differential import LISTED, disagreement, question

CHUNK = 2_000
SHOWN = 20


def compare(first: int) -> list[tuple[str, str]]:
    """The disagreements among the questions from `first` on."""
    return [found for seed in range(first, first + CHUNK) if (found := disagreement(question(seed)))]


def main() -> int:
    """Ask, tell progress, and list what disagrees. Returns 1 when anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first question")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    began, done = time.monotonic(), 0
    listed: Counter[str] = Counter()
    found: list[str] = []
    with Pool(arguments.workers) as pool:
        chunks = range(arguments.first, arguments.first + arguments.comparisons, CHUNK)
        for disagreements in pool.imap(compare, chunks):
            listed.update(reason for reason, _ in disagreements if reason)
            found += [text for reason, text in disagreements if not reason]
            done += CHUNK
            if done % 50_000 == 0 or done >= arguments.comparisons:
                seconds = time.monotonic() - began
                known = sum(listed.values())
                print(
                    f"{done} comparisons, {known} listed and {len(found)} other disagreements, {seconds:.0f} s",
                    flush=True,
                )
    for reason, number in listed.most_common():
        print(f"listed, {number} times: {reason}: {LISTED[reason]}")
    for line in found[:SHOWN]:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
