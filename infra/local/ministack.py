"""The emulator: MiniStack, on a free loopback port, in a process that ends with its caller."""

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from infra.local.environment import ACCOUNT, REGION, base_environment

START_SECONDS = 60.0
STOP_SECONDS = 10.0
TRIES = 3


class EmulatorFailed(Exception):
    """The emulator did not come up. The message says where its log is."""


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator.

    Attributes:
        endpoint: the URL that stands in for every AWS service.
        log: its log file; the output of functions is in it too.
        pid: its supervisor's process.
    """

    endpoint: str
    log: Path
    pid: int


@contextlib.contextmanager
def emulator(directory: Path) -> Iterator[Emulator]:
    """An emulator that writes below `directory`, for as long as the block lasts."""
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "ministack.log"
    process, endpoint = _start(directory, log)
    try:
        yield Emulator(endpoint, log, process.pid)
    finally:
        _stop(process)


def _start(directory: Path, log: Path) -> "tuple[subprocess.Popen[bytes], str]":
    """Start on a free port; another one when somebody else took it in between."""
    for _ in range(TRIES):
        port = _free_port()
        process = _spawn(directory, log, port)
        endpoint = f"http://127.0.0.1:{port}"
        try:
            if _healthy(process, endpoint):
                return process, endpoint
        except BaseException:  # Ctrl-C while waiting
            _stop(process)
            raise
        _stop(process)
    raise EmulatorFailed(f"MiniStack did not start in {TRIES} tries of {START_SECONDS:.0f} s; its log is {log}")


def _spawn(directory: Path, log: Path, port: int) -> "subprocess.Popen[bytes]":
    scratch = directory / "tmp"
    scratch.mkdir(exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and modules
            [sys.executable, str(Path(__file__).with_name("supervise.py")), sys.executable, "-m", "ministack"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={
                **base_environment(),
                "GATEWAY_PORT": str(port),
                "BIND_HOST": "127.0.0.1",  # its default is every interface
                "MINISTACK_HOST": "127.0.0.1",
                "MINISTACK_REGION": REGION,
                "MINISTACK_ACCOUNT_ID": ACCOUNT,
                "SERVICES": "",
                "TMPDIR": str(scratch),
                # Neither listens on a port of its own, which a second emulator would find taken; nor do containers.
                "SFTP_ENABLED": "0",
                "IOT_MTLS_ENABLED": "0",
                "DOCKER_HOST": "unix:///nonexistent/docker.sock",
                "PYTHONUNBUFFERED": "1",
            },
        )


def _healthy(process: "subprocess.Popen[bytes]", endpoint: str) -> bool:
    """Wait until it answers. False when it ended instead, or takes too long."""
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=5) as answer:  # noqa: S310 - loopback
                json.load(answer)
                return True
        except (urllib.error.URLError, OSError, ValueError):
            time.sleep(0.1)
    return False


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Close its supervisor's standard input, which ends it and its workers; and wait."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
