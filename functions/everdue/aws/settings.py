"""Settings: what the stack tells the functions. The only file that reads the environment."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from everdue.core.errors import SettingsRefused

_SHOWN_CHARS = 80
_TABLE = re.compile(r"[A-Za-z0-9_.-]{3,255}|arn:[a-z0-9-]+:dynamodb:[a-z0-9-]+:\d{12}:table/[A-Za-z0-9_.-]{3,255}")
_QUEUE = re.compile(r"https?://[^\s/]+/\S*[A-Za-z0-9_-]+\.fifo")
_STREAM = re.compile(r"arn:[a-z0-9-]+:dynamodb:[a-z0-9-]+:\d+:table/[A-Za-z0-9_.-]{3,255}/stream/\S+")
_STACK = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,6})?")

MAX_LEAD_SECONDS = 840
"""A Lambda function lives 900 s at most; what is left covers the snapshot before and the commit after the lead."""
MAX_SHARDS = 1_000
DEFAULT_STACK = "everdue"
"""What the `source` of a message says where no stack names itself: outside CloudFormation."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one deployment, checked as a whole before the first AWS call.

    Attributes:
        schedules_table, claims_table, runs_table: names (or ARNs) of the tables.
        queue_url: the FIFO queue that occurrences go to.
        stream_arn: the change feed of the schedules table.
        shard_count: how many claims share the schedules, 1 to 1,000.
        lead_seconds: how far ahead an invocation covers, 0 to 840. 0 is the cheap mode.
        sync_seconds: how often the source is read, more than 0.
        snapshot_seconds: how often it is read as a whole where there is a feed. 0: at every sync.
        recover_seconds: how long after its moment a run is merely late.
        horizon_seconds: how far back missed runs are caught up; not under `recover_seconds`.
        stack: the name that messages carry as their source.
    """

    schedules_table: str
    claims_table: str
    runs_table: str
    queue_url: str
    stream_arn: str
    shard_count: int
    lead_seconds: float
    sync_seconds: float
    snapshot_seconds: float
    recover_seconds: float
    horizon_seconds: float
    stack: str = DEFAULT_STACK

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Self:
        """The settings that the environment states; `environ` stands in for it in tests.

        Raises:
            SettingsRefused: a variable is missing or makes no sense. There are no defaults to fall back on: a stack
                that forgot to say its horizon would drop runs that its owner believes are kept.
        """
        read = _Reader(os.environ if environ is None else environ)
        recover = read.seconds("EVERDUE_RECOVER_SECONDS", least=0)
        return cls(
            schedules_table=read.text("EVERDUE_SCHEDULES_TABLE", _TABLE, "the name or ARN of a DynamoDB table"),
            claims_table=read.text("EVERDUE_CLAIMS_TABLE", _TABLE, "the name or ARN of a DynamoDB table"),
            runs_table=read.text("EVERDUE_RUNS_TABLE", _TABLE, "the name or ARN of a DynamoDB table"),
            queue_url=read.text("EVERDUE_QUEUE_URL", _QUEUE, "the URL of an SQS FIFO queue, ending in .fifo"),
            stream_arn=read.text("EVERDUE_STREAM_ARN", _STREAM, "the ARN of a DynamoDB stream (…:table/NAME/stream/…)"),
            shard_count=read.whole("EVERDUE_SHARD_COUNT", least=1, most=MAX_SHARDS),
            lead_seconds=read.seconds("EVERDUE_LEAD_SECONDS", least=0, most=MAX_LEAD_SECONDS),
            sync_seconds=read.seconds("EVERDUE_SYNC_SECONDS", above=0),
            snapshot_seconds=read.seconds("EVERDUE_SNAPSHOT_SECONDS", least=0),
            recover_seconds=recover,
            horizon_seconds=read.seconds(
                "EVERDUE_HORIZON_SECONDS", least=max(recover, 1), because="not under EVERDUE_RECOVER_SECONDS"
            ),
            stack=read.text("EVERDUE_STACK", _STACK, "the name of a CloudFormation stack", default=DEFAULT_STACK),
        )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one variable at a time and words what is wrong with it."""

    environ: Mapping[str, str]

    def text(self, name: str, pattern: re.Pattern[str], right: str, *, default: str | None = None) -> str:
        value = self.environ.get(name, "").strip()
        if not value and default is not None:
            return default
        if not pattern.fullmatch(value):
            raise self._refused(name, right)
        return value

    def whole(self, name: str, *, least: int, most: int) -> int:
        value = self.environ.get(name, "").strip()
        if not re.fullmatch(r"[0-9]{1,9}", value) or not least <= int(value) <= most:
            raise self._refused(name, f"a whole number from {least} to {most}")
        return int(value)

    def seconds(
        self, name: str, *, least: float = 0, above: float | None = None, most: float | None = None, because: str = ""
    ) -> float:
        right = f"seconds, a number above {above:g}" if above is not None else f"seconds, a number from {least:g}"
        right += f" to {most:g}" if most is not None else ""
        right += f" ({because})" if because else ""
        text = self.environ.get(name, "").strip()
        if not _NUMBER.fullmatch(text) or not text.isascii():
            raise self._refused(name, right)
        value = float(text)
        if value < least or (above is not None and value <= above) or (most is not None and value > most):
            raise self._refused(name, right)
        return value

    def _refused(self, name: str, right: str) -> SettingsRefused:
        value = self.environ.get(name)
        if value is None:
            return SettingsRefused(f"environment variable {name} is missing: set it to {right}")
        shown = repr(value if len(value) <= _SHOWN_CHARS else value[:_SHOWN_CHARS] + "…")
        return SettingsRefused(f"environment variable {name} is {shown}: it must be {right}")
