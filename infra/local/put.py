"""Write one schedule into the local stack that is running, from another terminal.

python -m infra.local.put '{"id": "mine", "every": 3, "payload": {"hello": "world"}}'
python -m infra.local.put --delete mine
"""

import argparse
import json
import sys
from decimal import Decimal
from typing import Any

import boto3
from infra.local.environment import LOCAL, REGION
from infra.local.items import put

from everdue import ScheduleRefused, parse

RUNNING = LOCAL / "running.json"
"""Which local stack was started last: its endpoint and its table."""


def main(arguments: list[str]) -> int:
    """Write or delete. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m infra.local.put", description="Write a schedule into the demo.")
    parser.add_argument("schedule", help="the item as JSON, or with --delete its id")
    parser.add_argument("--delete", action="store_true", help="delete the schedule of this id instead")
    given = parser.parse_args(arguments)
    try:
        running: dict[str, str] = json.loads(RUNNING.read_text())
    except FileNotFoundError:
        print("no demo is running: start one with `make demo`", file=sys.stderr)
        return 1
    client = boto3.client(
        "dynamodb",
        endpoint_url=running["endpoint"],
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - the emulator takes any
    )
    if given.delete:
        client.delete_item(TableName=running["table"], Key={"id": {"S": given.schedule}})
        print(f"deleted {given.schedule}: the tick sees it at its next sync")
        return 0
    try:
        schedule: Any = json.loads(given.schedule, parse_float=Decimal, parse_constant=_refuse)
    except ValueError as error:
        print(f"not JSON: {error}", file=sys.stderr)
        return 2
    if not isinstance(schedule, dict) or not isinstance(schedule.get("id"), str) or not schedule["id"]:
        print('a schedule is a JSON object with an id, such as {"id": "mine", "every": 3}', file=sys.stderr)
        return 2
    try:
        parse(schedule)
    except ScheduleRefused as error:
        print(f"the tick will refuse {schedule['id']}, and go on with the others: {error}", file=sys.stderr)
    put(client, running["table"], schedule)
    print(f"wrote {schedule['id']}: the tick sees it at its next sync, within 10 s; a run due before that is late")
    return 0


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number that a table can hold")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
