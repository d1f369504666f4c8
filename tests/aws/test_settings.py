"""Settings: whatever is missing or senseless is said by name, before anything else happens."""

import re

import pytest

from everdue.aws.settings import Settings
from everdue.core.errors import SettingsRefused

GOOD = {
    "EVERDUE_SCHEDULES_TABLE": "prod-Schedules-1A",
    "EVERDUE_CLAIMS_TABLE": "prod-Claims-1A",
    "EVERDUE_RUNS_TABLE": "prod-Runs-1A",
    "EVERDUE_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/123456789012/Occurrences.fifo",
    "EVERDUE_STREAM_ARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/Schedules/stream/2026-12-01T00:00:00.000",
    "EVERDUE_SHARD_COUNT": "4",
    "EVERDUE_LEAD_SECONDS": "60",
    "EVERDUE_SYNC_SECONDS": "10",
    "EVERDUE_SNAPSHOT_SECONDS": "3600",
    "EVERDUE_RECOVER_SECONDS": "300",
    "EVERDUE_HORIZON_SECONDS": "86400",
}


def test_a_complete_environment_gives_each_setting_its_value() -> None:
    """The functions do what the stack's parameters say, each of them."""
    settings = Settings.from_env({**GOOD, "EVERDUE_STACK": "prod"})
    assert settings == Settings(
        schedules_table="prod-Schedules-1A",
        claims_table="prod-Claims-1A",
        runs_table="prod-Runs-1A",
        queue_url="https://sqs.eu-central-1.amazonaws.com/123456789012/Occurrences.fifo",
        stream_arn=GOOD["EVERDUE_STREAM_ARN"],
        shard_count=4,
        lead_seconds=60,
        sync_seconds=10,
        snapshot_seconds=3600,
        recover_seconds=300,
        horizon_seconds=86_400,
        stack="prod",
    )


def test_the_environment_of_the_process_is_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Lambda function has nothing else."""
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)
    assert Settings.from_env() == Settings.from_env(GOOD)


@pytest.mark.parametrize("name", sorted(GOOD))
@pytest.mark.parametrize("value", [None, "", "   "])
def test_a_missing_variable_is_named(name: str, value: str | None) -> None:
    """The deployer reads which variable to set, not a KeyError from a boto3 call."""
    environ = {key: text for key, text in GOOD.items() if key != name}
    if value is not None:
        environ[name] = value
    with pytest.raises(SettingsRefused, match=name):
        Settings.from_env(environ)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EVERDUE_SCHEDULES_TABLE", "no table"),
        ("EVERDUE_CLAIMS_TABLE", "ab"),
        ("EVERDUE_QUEUE_URL", "https://sqs.eu-central-1.amazonaws.com/123456789012/standard"),
        ("EVERDUE_QUEUE_URL", "Occurrences.fifo"),
        ("EVERDUE_STREAM_ARN", "arn:aws:dynamodb:eu-central-1:123456789012:table/Schedules"),
        ("EVERDUE_SHARD_COUNT", "0"),
        ("EVERDUE_SHARD_COUNT", "1.5"),
        ("EVERDUE_SHARD_COUNT", "-1"),
        ("EVERDUE_SHARD_COUNT", "1001"),
        ("EVERDUE_SHARD_COUNT", "٣"),
        ("EVERDUE_LEAD_SECONDS", "-1"),
        ("EVERDUE_LEAD_SECONDS", "841"),
        ("EVERDUE_LEAD_SECONDS", "1m"),
        ("EVERDUE_LEAD_SECONDS", "nan"),
        ("EVERDUE_LEAD_SECONDS", "inf"),
        ("EVERDUE_LEAD_SECONDS", "1e1"),
        ("EVERDUE_LEAD_SECONDS", "٣"),
        ("EVERDUE_SYNC_SECONDS", "0"),
        ("EVERDUE_SNAPSHOT_SECONDS", "-1"),
        ("EVERDUE_RECOVER_SECONDS", "five"),
        ("EVERDUE_HORIZON_SECONDS", "299"),
        ("EVERDUE_STACK", "no stack"),
    ],
)
def test_a_senseless_value_is_shown_with_what_would_be_right(name: str, value: str) -> None:
    """A horizon under the recovery, say, would drop runs that are merely late."""
    with pytest.raises(SettingsRefused, match=re.escape(f"{name} is {value!r}: it must be ")):
        Settings.from_env({**GOOD, name: value})


def test_the_edges_are_allowed() -> None:
    """Cheap mode is a lead of zero, and a snapshot at each sync a cadence of zero."""
    settings = Settings.from_env(
        {
            **GOOD,
            "EVERDUE_LEAD_SECONDS": "0",
            "EVERDUE_SYNC_SECONDS": "0.5",
            "EVERDUE_SNAPSHOT_SECONDS": "0",
            "EVERDUE_RECOVER_SECONDS": "0",
            "EVERDUE_HORIZON_SECONDS": "1",
            "EVERDUE_QUEUE_URL": "http://127.0.0.1:4566/000000000000/q.fifo",
        }
    )
    assert (settings.lead_seconds, settings.sync_seconds, settings.recover_seconds) == (0, 0.5, 0)
    assert settings.stack == "everdue"
