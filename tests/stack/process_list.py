"""What runs on this machine."""

import subprocess


def processes() -> list[tuple[int, str]]:
    """The id and the command line of every process."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,args="],  # noqa: S607 - POSIX has it, at no fixed path
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    pairs = (line.strip().partition(" ") for line in listed.splitlines() if line.strip())
    return [(int(pid), command) for pid, _, command in pairs]
