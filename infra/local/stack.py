"""A whole local stack for as long as a block lasts: emulator, build, deploy."""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from infra.local.deploy import Deployment, build, deploy
from infra.local.environment import LOCAL
from infra.local.ministack import Emulator, emulator


@dataclass(frozen=True, slots=True)
class LocalStack:
    """A running local stack.

    Attributes:
        deployment: its outputs and clients.
        emulator: what it runs on.
        template: the built template that was deployed.
    """

    deployment: Deployment
    emulator: Emulator
    template: Path


@contextlib.contextmanager
def local_stack(
    name: str, parameters: Mapping[str, str] | None = None, output: IO[bytes] | None = None
) -> Iterator[LocalStack]:
    """Start, build and deploy; end everything and keep the logs.

    Args:
        name: what its folder below `.local` begins with. Each run has its own, so that several can run at once.
        parameters: of the stack, other than the template's defaults.
        output: where SAM CLI writes; the terminal unless given.
    """
    directory = LOCAL / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    try:
        with emulator(directory) as running:
            template = build(directory, output)
            yield LocalStack(deploy(template, running.endpoint, parameters, output), running, template)
    finally:
        for leftover in ("build", "tmp"):
            shutil.rmtree(directory / leftover, ignore_errors=True)
