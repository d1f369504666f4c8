"""Runs one command, and ends it and all that it started as soon as whoever asked for it is gone.

    python supervise.py COMMAND [ARGUMENT ...]

The caller holds the other end of this process's standard input. It closes when the caller closes it, exits, crashes or
is killed, so nothing is left running in any of these cases. (`atexit` and signal handlers in the caller would miss
the last two; Linux's parent-death signal would do, but macOS has none.)
"""

import os
import select
import signal
import subprocess
import sys
from types import FrameType

GRACE_SECONDS = 3.0
POLL_SECONDS = 0.2


def main(command: list[str]) -> int:
    """Run the command until it ends or standard input closes. Returns its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is the caller's to act upon
    signal.signal(signal.SIGTERM, _close_input)
    # A session of its own: its worker processes are of the same group, and one signal reaches them all.
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603 - the caller's own
    try:
        while child.poll() is None:
            readable, _, _ = select.select([sys.stdin.fileno()], [], [], POLL_SECONDS)
            if readable and not os.read(sys.stdin.fileno(), 1024):
                break
    except OSError:  # standard input was closed by SIGTERM
        pass
    finally:
        _end(child)
    return child.wait()


def _close_input(_signal: int, _frame: FrameType | None) -> None:
    os.close(sys.stdin.fileno())


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Ask the whole group to end, and make it when it does not."""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            return
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
