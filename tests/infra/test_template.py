"""The template, as CloudFormation gets it: what may lose runs, data or money, and who may do what."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).parents[2]
SOURCE = yaml_parse((ROOT / "template.yaml").read_text())
PARAMETERS = SOURCE["Parameters"]
DEFAULTS = {name: str(parameter["Default"]) for name, parameter in PARAMETERS.items()}
FOURTEEN_DAYS = 14 * 86_400
TABLES = ("SchedulesTable", "ClaimsTable", "RunsTable")
QUEUES = ("OccurrenceQueue", "DeadLetterQueue", "TickFailureQueue")


class _NoManagedPolicies:
    def load(self) -> dict[str, str]:
        return {}


@pytest.fixture(scope="module")
def resources(monkeypatch_module: pytest.MonkeyPatch) -> dict[str, Any]:
    """The resources after SAM's own translation."""
    monkeypatch_module.setenv("AWS_DEFAULT_REGION", "us-east-1")
    source = yaml_parse((ROOT / "template.yaml").read_text())
    source["Resources"]["TickFunction"]["Properties"]["CodeUri"] = "s3://bucket/key"
    translator = Translator(_NoManagedPolicies().load(), Parser())
    template: dict[str, Any] = translator.translate(source, DEFAULTS)
    found: dict[str, Any] = with_defaults(template["Resources"])
    return found


def with_defaults(value: Any) -> Any:
    """The same with each parameter at its default: SAM puts values into its own kinds of resources only."""
    if isinstance(value, dict):
        name = value.get("Ref")
        return DEFAULTS[name] if name in DEFAULTS else {key: with_defaults(each) for key, each in value.items()}
    return [with_defaults(each) for each in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def monkeypatch_module() -> Any:
    """pytest's own lasts for one test."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def properties(resources: dict[str, Any], name: str) -> dict[str, Any]:
    """A resource's properties."""
    found: dict[str, Any] = resources[name]["Properties"]
    return found


def statements(document: dict[str, Any]) -> list[dict[str, Any]]:
    """A policy's statements, conditional ones too."""
    return [each["Fn::If"][1] if "Fn::If" in each else each for each in document["Statement"]]


def role_statements(resources: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """Everything that a role may do."""
    return [each for policy in properties(resources, role)["Policies"] for each in statements(policy["PolicyDocument"])]


def as_list(value: Any) -> list[Any]:
    """IAM allows one for a list of one."""
    return value if isinstance(value, list) else [value]


def of_type(resources: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """All resources of a type."""
    return {name: resource for name, resource in resources.items() if resource["Type"] == kind}


# What is kept -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_a_table_outlives_stack_replacement_and_accident(resources: dict[str, Any], table: str) -> None:
    """Without both policies a changed key would take the data with the old table."""
    assert resources[table]["DeletionPolicy"] == "Retain"
    assert resources[table]["UpdateReplacePolicy"] == "Retain"
    found = properties(resources, table)
    assert found["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert found["DeletionProtectionEnabled"] == "true"
    assert found["SSESpecification"] == {"SSEEnabled": True}
    assert found["BillingMode"] == "PAY_PER_REQUEST"
    assert "TableName" not in found, "a stack deployed again would run into the table it left behind"


def test_only_runs_expire(resources: dict[str, Any]) -> None:
    """TTL on claims or schedules would delete them days late, and silently."""
    assert "TimeToLiveSpecification" not in properties(resources, "SchedulesTable")
    assert "TimeToLiveSpecification" not in properties(resources, "ClaimsTable")
    ttl = properties(resources, "RunsTable")["TimeToLiveSpecification"]
    assert ttl == {"AttributeName": "expires_at", "Enabled": True}


def test_keys_are_those_of_the_contract(resources: dict[str, Any]) -> None:
    """Every writer and reader relies on them, and a change would replace the table."""
    keys = {
        table: [(key["AttributeName"], key["KeyType"]) for key in properties(resources, table)["KeySchema"]]
        for table in TABLES
    }
    assert keys == {
        "SchedulesTable": [("id", "HASH")],
        "ClaimsTable": [("name", "HASH")],
        "RunsTable": [("schedule", "HASH"), ("due", "RANGE")],
    }


def test_schedules_have_a_stream_of_both_images(resources: dict[str, Any]) -> None:
    """The view type is fixed for a stream's life: another one is another stream."""
    stream = properties(resources, "SchedulesTable")["StreamSpecification"]
    assert stream == {"StreamViewType": "NEW_AND_OLD_IMAGES"}


# The queue ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["OccurrenceQueue", "DeadLetterQueue"])
def test_high_throughput_needs_both_attributes(resources: dict[str, Any], queue: str) -> None:
    """Any other mix silently falls back to 300 calls a second; no scanner notices."""
    found = properties(resources, queue)
    assert found["FifoQueue"] is True
    assert found["DeduplicationScope"] == "messageGroup"
    assert found["FifoThroughputLimit"] == "perMessageGroupId"
    assert "ContentBasedDeduplication" not in found, "an id that is left out must be an error"


@pytest.mark.parametrize("queue", QUEUES)
def test_messages_live_for_fourteen_days_and_encrypted(resources: dict[str, Any], queue: str) -> None:
    """SQS's own default of four days loses what waits over a long weekend."""
    assert properties(resources, queue)["MessageRetentionPeriod"] == FOURTEEN_DAYS
    assert properties(resources, queue)["SqsManagedSseEnabled"] is True


def test_dead_letters_go_to_a_fifo_queue_after_five_receives_at_least(resources: dict[str, Any]) -> None:
    """SQS counts receives that no worker saw, and a FIFO queue's dead letters need a FIFO queue."""
    redrive = properties(resources, "OccurrenceQueue")["RedrivePolicy"]
    assert redrive["deadLetterTargetArn"] == {"Fn::GetAtt": ["DeadLetterQueue", "Arn"]}
    assert int(redrive["maxReceiveCount"]) >= 5
    assert PARAMETERS["MaxReceives"]["MinValue"] >= 5


def test_visibility_is_six_times_a_workers_minute(resources: dict[str, Any]) -> None:
    """Lambda's mapping wants six times the worker's timeout, or messages come back while they are worked on."""
    assert int(properties(resources, "OccurrenceQueue")["VisibilityTimeout"]) >= 6 * 60


def test_sending_is_the_ticks_alone(resources: dict[str, Any]) -> None:
    """Whoever sends to the queue runs jobs: sending is remote execution."""
    (deny,) = [
        each
        for each in statements(properties(resources, "OccurrenceQueuePolicy")["PolicyDocument"])
        if each["Sid"] == "OnlyTheTickSends"
    ]
    assert (deny["Effect"], deny["Principal"], deny["Action"]) == ("Deny", "*", "sqs:SendMessage")
    without_senders = deny["Condition"]["ArnNotLike"]["aws:PrincipalArn"]["Fn::If"][2]
    assert without_senders == [{"Fn::GetAtt": ["TickRole", "Arn"]}]


@pytest.mark.parametrize("queue", QUEUES)
def test_no_queue_takes_a_call_without_tls(resources: dict[str, Any], queue: str) -> None:
    """Payloads would cross the network in the clear."""
    denials = [
        each
        for policy in of_type(resources, "AWS::SQS::QueuePolicy").values()
        if policy["Properties"]["Queues"] == [{"Ref": queue}]
        for each in statements(policy["Properties"]["PolicyDocument"])
        if each["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    ]
    assert [(each["Effect"], each["Principal"], each["Action"]) for each in denials] == [("Deny", "*", "sqs:*")]


# The trigger and the tick -------------------------------------------------------------------------------------------


def test_the_trigger_fires_each_minute_and_never_retries(resources: dict[str, Any]) -> None:
    """The next minute covers whatever this one leaves; a stale invocation is worth nothing."""
    ((_, schedule),) = of_type(resources, "AWS::Scheduler::Schedule").items()
    found = schedule["Properties"]
    assert found["ScheduleExpression"] == "cron(* * * * ? *)"
    assert found["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert found["Target"]["RetryPolicy"] == {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}
    assert found["Target"]["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": ["TickFailureQueue", "Arn"]}}
    assert found["Target"]["RoleArn"] == {"Fn::GetAtt": ["TriggerRole", "Arn"]}
    assert json.loads(found["Target"]["Input"]) == {"shard": 0}


def test_lambda_never_retries_a_tick_either(resources: dict[str, Any]) -> None:
    """Its own defaults keep a throttled event for six hours: a pile of stale ticks."""
    ((_, config),) = of_type(resources, "AWS::Lambda::EventInvokeConfig").items()
    found = config["Properties"]
    assert found["MaximumRetryAttempts"] == 0
    assert found["MaximumEventAgeInSeconds"] == 60
    destination = found["DestinationConfig"]["OnFailure"]["Destination"]
    assert destination == {"Fn::GetAtt": ["TickFailureQueue", "Arn"]}
    assert "FifoQueue" not in properties(resources, "TickFailureQueue"), "neither service can send to a FIFO queue"


def test_the_tick_lives_longer_than_its_lead(resources: dict[str, Any]) -> None:
    """A lead that reaches past the timeout would be cut off by the kill, each minute."""
    assert int(properties(resources, "TickFunction")["Timeout"]) >= int(DEFAULTS["LeadSeconds"]) + 15


def test_the_tick_has_no_snapshot_and_no_reserved_concurrency(resources: dict[str, Any]) -> None:
    """SnapStart shares what was random at import; reserving concurrency fails to deploy in small accounts."""
    found = properties(resources, "TickFunction")
    assert "SnapStart" not in found
    assert found["ReservedConcurrentExecutions"]["Fn::If"] == [
        "HasReservedConcurrency",
        "off",
        {"Ref": "AWS::NoValue"},
    ]
    assert found["Architectures"] == ["arm64"]


def test_a_reserved_concurrency_of_one_is_refused() -> None:
    """It would throttle the successor that waits to take over, each minute."""
    pattern = re.compile(PARAMETERS["ReservedConcurrency"]["AllowedPattern"])
    assert pattern.fullmatch("off")
    assert pattern.fullmatch("2")
    assert pattern.fullmatch("15")
    assert not pattern.fullmatch("1")
    assert not pattern.fullmatch("0")


def test_the_environment_is_the_contracts(resources: dict[str, Any]) -> None:
    """Settings refuses to start when one is missing."""
    variables = properties(resources, "TickFunction")["Environment"]["Variables"]
    contract = (
        "SCHEDULES_TABLE CLAIMS_TABLE RUNS_TABLE QUEUE_URL STREAM_ARN SHARD_COUNT LEAD_SECONDS SYNC_SECONDS "
        "SNAPSHOT_SECONDS RECOVER_SECONDS HORIZON_SECONDS"
    )
    assert {f"EVERDUE_{name}" for name in contract.split()} <= variables.keys()


def test_logs_do_not_pile_up_for_ever(resources: dict[str, Any]) -> None:
    """A log group that Lambda makes by itself keeps everything."""
    assert properties(resources, "TickFunction")["LoggingConfig"] == {"LogGroup": {"Ref": "TickLogs"}}
    assert int(properties(resources, "TickLogs")["RetentionInDays"]) == int(DEFAULTS["LogRetentionDays"])


# Rights -------------------------------------------------------------------------------------------------------------


def test_the_tick_may_do_what_it_does_and_nothing_else(resources: dict[str, Any]) -> None:
    """It deletes nothing, receives nothing, writes no schedule, and reads no other table."""
    granted = {
        (action, json.dumps(each["Resource"], sort_keys=True))
        for each in role_statements(resources, "TickRole")
        if each["Sid"] != "Trace"
        for action in as_list(each["Action"])
    }

    def on(resource: str, *actions: str) -> set[tuple[str, str]]:
        return {(action, json.dumps({"Fn::GetAtt": [resource, "Arn"]})) for action in actions}

    assert granted == (
        on("SchedulesTable", "dynamodb:Scan")
        | on("ClaimsTable", "dynamodb:GetItem", "dynamodb:PutItem")
        | on("RunsTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:BatchWriteItem")
        | on("OccurrenceQueue", "sqs:SendMessage")
        | on("TickFailureQueue", "sqs:SendMessage")
        | on("TickLogs", "logs:CreateLogStream", "logs:PutLogEvents")
    )


def test_the_trigger_may_invoke_the_tick_alone_and_no_other_account_may_be_it(resources: dict[str, Any]) -> None:
    """Without the source condition, a schedule of somebody else's could borrow the role."""
    granted = {
        (action, json.dumps(each["Resource"]))
        for each in role_statements(resources, "TriggerRole")
        for action in as_list(each["Action"])
    }
    assert granted == {
        ("lambda:InvokeFunction", '{"Fn::GetAtt": ["TickFunction", "Arn"]}'),
        ("sqs:SendMessage", '{"Fn::GetAtt": ["TickFailureQueue", "Arn"]}'),
    }
    (trust,) = properties(resources, "TriggerRole")["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    assert "aws:SourceArn" in trust["Condition"]["ArnEquals"]


def test_no_right_has_a_wildcard(resources: dict[str, Any]) -> None:
    """A star grants what the service adds next year. X-Ray, when switched on, has no resources to name."""
    for role in of_type(resources, "AWS::IAM::Role"):
        assert "ManagedPolicyArns" not in properties(resources, role), f"{role} has a policy that somebody else edits"
        for each in role_statements(resources, role):
            assert each["Effect"] == "Allow"
            assert not [action for action in as_list(each["Action"]) if "*" in action], each
            if each.get("Sid") != "Trace":
                assert "*" not in as_list(each["Resource"]), each


def test_every_role_is_declared_here(resources: dict[str, Any]) -> None:
    """One that SAM makes has rights that nobody reads."""
    assert of_type(resources, "AWS::IAM::Role").keys() == {"TickRole", "TriggerRole"}


# Alarms -------------------------------------------------------------------------------------------------------------


def test_silence_is_an_alarm(resources: dict[str, Any]) -> None:
    """A tick that never runs measures nothing: no data must count as the worst of data."""
    found = properties(resources, "NotCoveringAlarm")
    assert found["MetricName"] == "lag"
    assert found["TreatMissingData"] == "breaching"
    assert found["Period"] * found["EvaluationPeriods"] == 180


def test_every_way_to_lose_a_run_has_an_alarm(resources: dict[str, Any]) -> None:
    """Each of these is a state that only a person can end."""
    alarms = {
        (each["Properties"]["Namespace"], each["Properties"]["MetricName"])
        for each in of_type(resources, "AWS::CloudWatch::Alarm").values()
    }
    assert alarms >= {
        ("everdue", "lag"),
        ("everdue", "error.total"),
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible"),
        ("AWS/SQS", "ApproximateAgeOfOldestMessage"),
        ("AWS/SQS", "ApproximateNumberOfMessagesNotVisible"),
        ("AWS/Lambda", "Throttles"),
    }
    claim = properties(resources, "ClaimAlarm")["Dimensions"]
    assert {"Name": "stage", "Value": "claim"} in claim


def test_alarms_watch_metrics_that_the_function_writes(
    resources: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """CloudWatch matches names and dimensions exactly: one that differs watches nothing, for ever."""
    from everdue.observe import EmfMetrics

    metrics = EmfMetrics("a-stack")
    metrics.record("lag", 1)
    metrics.record("refused", 1)
    metrics.record("error.total", 1, stage="claim")
    metrics.flush()
    written = set()
    for line in capsys.readouterr().out.splitlines():
        blob = json.loads(line)
        for directive in blob["_aws"]["CloudWatchMetrics"]:
            for dimensions in directive["Dimensions"]:
                shown = frozenset((name, blob[name]) for name in dimensions)
                written |= {(directive["Namespace"], metric["Name"], shown) for metric in directive["Metrics"]}
    for name, alarm in of_type(resources, "AWS::CloudWatch::Alarm").items():
        found = alarm["Properties"]
        if found["Namespace"] != "everdue":
            continue
        watched = frozenset(
            (each["Name"], "a-stack" if each["Value"] == {"Ref": "AWS::StackName"} else each["Value"])
            for each in found["Dimensions"]
        )
        assert ("everdue", found["MetricName"], watched) in written, name


def test_a_second_stack_of_the_account_can_be_deployed(resources: dict[str, Any]) -> None:
    """SAM names a schedule after its function unless told not to, and a name exists once in an account's group."""
    for name, schedule in of_type(resources, "AWS::Scheduler::Schedule").items():
        assert "Name" not in schedule["Properties"], name


# Parameters and outputs ---------------------------------------------------------------------------------------------


def test_parameters_have_the_contracts_defaults() -> None:
    """They are named in documentation and in people's deploy scripts."""
    contract = {
        "ShardCount": "1",
        "LeadSeconds": "60",
        "SyncSeconds": "10",
        "SnapshotSeconds": "3600",
        "RecoverSeconds": "300",
        "HorizonSeconds": "86400",
        "TickMemory": "256",
    }
    assert {name: DEFAULTS[name] for name in contract} == contract
    assert "LogLevel" in DEFAULTS


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_a_parameter_says_what_it_is_and_refuses_nonsense(name: str) -> None:
    """A wrong value is cheapest to refuse before anything is deployed."""
    parameter = PARAMETERS[name]
    assert parameter["Description"].strip()
    bounded = parameter.keys() & {"AllowedValues", "AllowedPattern", "MinValue"}
    assert bounded or parameter["Type"] == "CommaDelimitedList"
    if "MinValue" in parameter:
        assert "MaxValue" in parameter


def test_outputs_are_those_of_the_contract() -> None:
    """Workers, the command line and people find the stack by these names."""
    contract = "SchedulesTable ClaimsTable RunsTable QueueUrl QueueArn DeadLetterQueueUrl TickFunction"
    assert set(contract.split()) <= SOURCE["Outputs"].keys()
    assert all(output["Description"] for output in SOURCE["Outputs"].values())


def test_deploying_needs_no_flag_but_a_stack_name() -> None:
    """`sam build && sam deploy --stack-name NAME` must be enough."""
    import tomllib

    deploy = tomllib.loads((ROOT / "samconfig.toml").read_text())["default"]["deploy"]["parameters"]
    assert deploy["capabilities"] == "CAPABILITY_IAM"
    assert deploy["resolve_s3"] is True
    assert deploy["confirm_changeset"] is False
    assert all("Default" in parameter for parameter in PARAMETERS.values())
