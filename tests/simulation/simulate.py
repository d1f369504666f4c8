"""Try to lose a run: `python tests/simulation/simulate.py --seeds 1000`; `--seed 17 --trace` shows one."""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "functions"), str(Path(__file__).resolve().parent)]

from story import Story  # noqa: E402 - found beside this file


def main() -> int:
    """Run the seeds; the number of those in which something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--seed", type=int, help="this one only")
    parser.add_argument("--trace", action="store_true", help="show everything that happened")
    options = parser.parse_args()
    seeds = [options.seed] if options.seed is not None else range(options.first, options.first + options.seeds)
    met: Counter[str] = Counter()
    failed, runs, began = [], 0, time.monotonic()
    for seed in seeds:
        story = Story(seed, trace=options.trace)
        wrong = story.tell()
        met.update(story.services.met)
        met.update({f"error {name}": count for name, count in story.errors.items()})
        runs += len(story.services.sent)
        if options.trace:
            print("\n".join(story.kernel.trace or ()))
        if wrong:
            failed.append(seed)
            print(f"seed {seed}: {len(wrong)} wrong, {story.plan}")
            print("\n".join(f"    {line}" for line in wrong[:4]))
    seconds = time.monotonic() - began
    print(f"{len(seeds)} stories, {runs} runs sent, {seconds:.1f} s; failed: {failed or 'none'}")
    for what, count in sorted(met.items()):
        print(f"  {what}: {count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
