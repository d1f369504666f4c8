"""The local stack leaves nothing behind, however it ends; and the demo holds what it promises."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from infra.local.environment import LOCAL, ROOT
from process_list import processes

HOLDER = """
import pathlib, sys, time
from infra.local.ministack import emulator
with emulator(pathlib.Path(sys.argv[1])) as running:
    print(running.endpoint, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that holds an emulator."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", HOLDER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.wait()


def emulators_below(directory: Path) -> list[int]:
    """The supervisors and emulators that write below a folder."""
    found = []
    for pid, command in processes():
        if "ministack" in command:
            environment = Path(f"/proc/{pid}/environ")
            if environment.exists() and str(directory) in environment.read_text(errors="replace"):
                found.append(pid)
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes by their environment, as Linux shows it")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_emulator_outlives_its_caller(holder: "subprocess.Popen[str]", how: signal.Signals, tmp_path: Path) -> None:
    """A crash, an end by a script, a Ctrl-C: after each, a next run must find free ports and an idle machine."""
    assert holder.stdout is not None
    assert holder.stdout.readline().startswith("http://127.0.0.1:")
    assert len(emulators_below(tmp_path)) == 2, "a supervisor and an emulator"
    holder.send_signal(how)
    holder.wait(15)
    give_up = time.monotonic() + 15
    while (left := emulators_below(tmp_path)) and time.monotonic() < give_up:
        time.sleep(0.1)
    assert not left


def test_the_demo_ends_by_itself_with_a_summary_and_leaves_nothing() -> None:
    """The first thing anybody runs. It must keep working whatever else changes."""
    process = subprocess.run(
        [sys.executable, "-m", "infra.local.demo"],
        cwd=ROOT,
        env={**os.environ, "DEMO_SECONDS": "15"},
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert process.returncode == 0, process.stdout[-3_000:] + process.stderr[-3_000:]
    assert "Successfully created/updated stack" in process.stdout + process.stderr, "the real `sam deploy` is not seen"
    assert "0 missing, 0 doubled, 0 unexpected" in process.stdout
    arrived = [line for line in process.stdout.splitlines() if line.endswith(" every-second")]
    assert len(arrived) >= 8
    assert not [command for _, command in processes() if f"{LOCAL}/demo-" in command]
