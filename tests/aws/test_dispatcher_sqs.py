"""The dispatcher on SQS: what SQS does to batches, and what becomes of each occurrence then."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aws_stub import Answer, StubService, error
from botocore.exceptions import EndpointConnectionError

from everdue.aws.dispatcher_sqs import SqsDispatcher
from everdue.core.errors import DispatchFailed
from everdue.core.occurrence import Occurrence
from everdue.core.parcel import Parcel
from everdue.testing import ManualClock

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
MIB = 1_048_576


def run(id: str, second: int = 0, data: Any = None) -> Occurrence:  # noqa: A002
    return Occurrence(id, NOON + timedelta(seconds=second), Parcel(data))


class Queue:
    """A queue behind the stub service. `judge` says what becomes of each entry: None accepts it."""

    def __init__(self, service: StubService) -> None:
        self.accepted: list[str] = []
        self.batches: list[list[str]] = []
        self.judge: Callable[[str, int], dict[str, Any] | None] = lambda key, attempt: None
        self.call: Callable[[list[str]], Answer | None] = lambda keys: None
        self.attempts: Counter[str] = Counter()
        service.respond = self._respond

    def _respond(self, operation: str, parameters: dict[str, Any]) -> Answer:
        assert operation == "SendMessageBatch"
        entries = {each["Id"]: json.loads(each["MessageBody"])["id"] for each in parameters["Entries"]}
        self.batches.append(list(entries.values()))
        answer = self.call(list(entries.values()))
        if answer is not None:
            return answer
        successful, failed = [], []
        for id, key in entries.items():  # noqa: A001
            self.attempts[key] += 1
            fault = self.judge(key, self.attempts[key])
            if fault is None:
                self.accepted.append(key)
                successful.append({"Id": id, "MessageId": "m", "MD5OfMessageBody": "x"})
            elif fault:
                failed.append({"Id": id, **fault})
        return Answer({"Successful": successful, "Failed": failed})


@pytest.fixture
def queue(service: StubService) -> Queue:
    return Queue(service)


@pytest.fixture
def dispatcher(service: StubService) -> SqsDispatcher:
    """One attempt a call and a clock that stands still, so that only the dispatcher's own patience counts."""
    return SqsDispatcher(
        service.client("sqs"), f"{service.url}/1/q.fifo", stack="prod", clock=ManualClock(NOON), threads=4
    )


def test_batches_hold_at_most_ten(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """SQS refuses an eleventh entry."""
    runs = [run(f"s{n}") for n in range(47)]
    assert dispatcher.dispatch(runs).accepted == 47
    assert sorted(len(batch) for batch in queue.batches) == [7, 10, 10, 10, 10]
    assert sorted(queue.accepted) == sorted(each.key for each in runs)


def test_batches_hold_at_most_a_mebibyte(dispatcher: SqsDispatcher, queue: Queue, service: StubService) -> None:
    """The limit is on the whole batch, in bytes, not on each message."""
    runs = [run(f"s{n}", data="x" * 300_000) for n in range(10)]
    assert dispatcher.dispatch(runs).accepted == 10
    sizes = [sum(len(each["MessageBody"].encode()) for each in call["Entries"]) for _, call in service.calls]
    assert max(sizes) <= MIB
    assert sorted(len(batch) for batch in queue.batches) == [1, 3, 3, 3]


def test_a_message_of_exactly_a_mebibyte_is_sent_and_one_byte_more_is_rejected(
    dispatcher: SqsDispatcher, queue: Queue
) -> None:
    """At the edge, measured in bytes of the body as it is sent: `é` takes six."""
    empty = len(
        '{"specversion":"1.0","type":"everdue.occurrence","source":"everdue/prod","id":"s@1796126400.000000",'
        '"subject":"s","time":"2026-12-01T12:00:00Z","datacontenttype":"application/json","scheduleversion":"",'
        '"overlap":"queue","data":""}'
    )
    fits, too_big = MIB - empty, MIB - empty + 1
    done = dispatcher.dispatch([run("s", data="x" * too_big), run("s", 1, "x" * fits), run("t", data="é" * 180_000)])
    assert queue.accepted == ["s@1796126401.000000"]
    assert [each.occurrence.id for each in done.rejected] == ["s", "t"]
    assert "1048577 bytes" in done.rejected[0].reason
    assert done.accepted == 1


def test_a_payload_that_is_no_json_is_rejected_alone(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """A program's payload may hold anything; it must not stop the others."""
    done = dispatcher.dispatch([run("bad", data=object()), run("good")])
    assert queue.accepted == [run("good").key]
    assert [each.occurrence.id for each in done.rejected] == ["bad"]


def test_nothing_to_send_calls_nothing(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """SQS refuses an empty batch."""
    assert dispatcher.dispatch([]).accepted == 0
    assert queue.batches == []


def test_the_runs_of_one_schedule_arrive_in_order(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """Also when there are many batches at a time, and one that fails in part: `queue` promises order."""

    def judge(key: str, attempt: int) -> dict[str, Any] | None:
        failing = attempt == 1 and key.endswith(("3.000000", "7.000000"))
        return {"SenderFault": False, "Code": "InternalError", "Message": "once"} if failing else None

    queue.judge = judge
    runs = [run(f"s{n}", second) for second in range(12) for n in range(9)]
    assert dispatcher.dispatch(runs).accepted == len(runs)
    for n in range(9):
        mine = [key for key in queue.accepted if key.startswith(f"s{n}@")]
        assert mine == [run(f"s{n}", second).key for second in range(12)]


def test_two_runs_of_one_group_never_share_a_batch(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """A batch that fails in part could take the second and leave the first for later."""
    dispatcher.dispatch([run("a", second) for second in range(4)])
    assert [len(batch) for batch in queue.batches] == [1, 1, 1, 1]


def test_an_entry_that_failed_in_a_batch_is_sent_again_alone(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """HTTP 200 hides it (Q8): taken for sent, it would be lost."""
    bad = run("s3").key
    queue.judge = lambda key, attempt: (
        {"SenderFault": False, "Code": "InternalError", "Message": ""} if key == bad and attempt < 3 else None
    )
    done = dispatcher.dispatch([run(f"s{n}") for n in range(5)])
    assert (done.accepted, done.rejected) == (5, ())
    assert queue.batches[1:] == [[bad], [bad]]


def test_an_entry_that_sqs_forgets_to_answer_for_is_sent_again(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """In neither list, its fate is unknown; the same key makes a repeat harmless."""
    bad = run("s1").key
    queue.judge = lambda key, attempt: {} if key == bad and attempt == 1 else None
    assert dispatcher.dispatch([run("s0"), run("s1")]).accepted == 2
    assert queue.accepted.count(bad) == 1


def test_an_entry_without_an_answer_is_never_rejected(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """Also alone: silence is no refusal."""
    queue.judge = lambda key, attempt: {} if attempt < 4 else None
    assert dispatcher.dispatch([run("a")]).rejected == ()


def test_a_refused_entry_is_rejected_once_it_is_refused_alone(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """Code and words of SQS go on record; the others are sent."""
    bad = run("s1").key
    fault = {"SenderFault": True, "Code": "InvalidMessageContents", "Message": "no \x0b here"}
    queue.judge = lambda key, attempt: fault if key == bad else None
    done = dispatcher.dispatch([run(f"s{n}") for n in range(3)])
    assert done.accepted == 2
    assert [(each.occurrence.key, each.reason) for each in done.rejected] == [
        (bad, "InvalidMessageContents: no \x0b here")
    ]
    assert queue.attempts[bad] == 2


def test_an_entry_that_only_its_batch_made_fail_is_sent(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """A sender fault in company says nothing yet."""
    fault = {"SenderFault": True, "Code": "InvalidParameterValue", "Message": "?"}
    queue.judge = lambda key, attempt: fault if attempt == 1 else None
    assert dispatcher.dispatch([run("a"), run("b")]).accepted == 2


def test_the_run_after_a_rejected_one_goes_out(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """One refused run must not hold up its own schedule for ever."""
    bad = run("a", 0).key
    queue.judge = lambda key, attempt: (
        {"SenderFault": True, "Code": "InvalidMessageContents", "Message": ""} if key == bad else None
    )
    done = dispatcher.dispatch([run("a", 0), run("a", 1)])
    assert done.accepted == 1
    assert queue.accepted == [run("a", 1).key]


@pytest.mark.parametrize("code", ["InvalidMessageContents", "BatchRequestTooLong", "InvalidParameterValue"])
def test_a_call_that_one_entry_makes_fail_is_taken_apart(dispatcher: SqsDispatcher, queue: Queue, code: str) -> None:
    """Nine good schedules must not share the fate of the tenth."""
    bad = run("s4").key
    queue.call = lambda keys: error(code, "the body is not valid") if bad in keys else None
    done = dispatcher.dispatch([run(f"s{n}") for n in range(10)])
    assert done.accepted == 9
    assert [(each.occurrence.id, each.reason) for each in done.rejected] == [("s4", f"{code}: the body is not valid")]


def test_a_batch_that_is_too_long_only_as_a_whole_is_sent_in_parts(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """SQS counts something that is not counted here: then nothing is rejected for it."""
    queue.call = lambda keys: error("BatchRequestTooLong", "too long") if len(keys) > 1 else None
    assert dispatcher.dispatch([run(f"s{n}") for n in range(10)]).accepted == 10


@pytest.mark.parametrize(
    "answer",
    [
        Answer(lost=True),
        error("InternalFailure", status=500),
        error("ServiceUnavailable", status=503),
        error("ThrottlingException"),
        error("QueueDoesNotExist"),
        error("AccessDeniedException", status=403),
        error("KmsAccessDenied", "no key"),
        error("InvalidParameterValue", "MessageDeduplicationId is not valid for this queue type"),
        error("SomethingNew"),
    ],
    ids=lambda answer: answer.body.get("__type", "lost"),
)
def test_a_failing_service_rejects_nothing(dispatcher: SqsDispatcher, queue: Queue, answer: Answer) -> None:
    """Rejections let coverage pass the run. While the queue is away that would drop everything that is due."""
    queue.call = lambda keys: answer
    with pytest.raises(DispatchFailed, match=r"q\.fifo"):
        dispatcher.dispatch([run("a"), run("b")])
    assert len(queue.batches) > 2


@pytest.mark.parametrize(
    "fault",
    [
        {"SenderFault": True, "Code": "KmsAccessDenied", "Message": "The key is disabled"},
        {"SenderFault": True, "Code": "KMS.DisabledException", "Message": ""},
        {"SenderFault": True, "Code": "AccessDenied", "Message": ""},
        {"SenderFault": True, "Code": "ThrottlingException", "Message": ""},
        {"SenderFault": True, "Code": "AWS.SimpleQueueService.NonExistentQueue", "Message": ""},
        {"SenderFault": True, "Code": "InvalidParameterValue", "Message": "not valid for this queue type"},
        {"SenderFault": False, "Code": "InternalError", "Message": ""},
    ],
    ids=lambda fault: fault["Code"],
)
def test_a_failing_service_rejects_nothing_entry_by_entry(
    dispatcher: SqsDispatcher, queue: Queue, fault: dict[str, Any]
) -> None:
    """SQS calls a missing key the sender's fault as well. It is nobody's occurrence's."""
    queue.judge = lambda key, attempt: fault
    with pytest.raises(DispatchFailed):
        dispatcher.dispatch([run("a"), run("b")])


def test_a_service_that_comes_back_in_time_gets_everything(dispatcher: SqsDispatcher, queue: Queue) -> None:
    """A blip of seconds costs seconds, not a tick."""
    queue.call = lambda keys: error("ServiceUnavailable", status=503) if len(queue.batches) < 5 else None
    assert dispatcher.dispatch([run("a"), run("b")]).accepted == 2


def test_patience_is_bounded_and_backs_off(service: StubService, queue: Queue) -> None:
    """The tick has to commit or give up before its invocation ends; and a throttled queue needs air."""
    clock = ManualClock(NOON)
    dispatcher = SqsDispatcher(
        service.client("sqs"), f"{service.url}/1/q.fifo", stack="s", clock=clock, budget_seconds=10
    )
    queue.call = lambda keys: error("ThrottlingException")
    with pytest.raises(DispatchFailed):
        dispatcher.dispatch([run("a")])
    assert clock.monotonic_us() <= 10_000_000
    assert clock.monotonic_us() >= 7_000_000
    assert 0.05 <= clock.slept[0] <= 0.1
    assert all(1 <= slept <= 2 for slept in clock.slept[5:])
    assert len(set(clock.slept[5:])) > 1, "without jitter, shards that were throttled together come back together"


def test_no_thread_outlives_the_call(service: StubService, queue: Queue) -> None:
    """Lambda freezes a process between invocations; a thread would thaw in the middle of another one (F1)."""
    before = {thread.ident for thread in threading.enumerate() if thread.name.startswith("everdue-dispatch")}
    good = SqsDispatcher(service.client("sqs"), f"{service.url}/1/q.fifo", stack="s", budget_seconds=0.3)
    good.dispatch([run(f"s{n}") for n in range(100)])
    queue.call = lambda keys: error("ServiceUnavailable", status=503)
    with pytest.raises(DispatchFailed):
        good.dispatch([run(f"s{n}") for n in range(100)])
    after = {thread.ident for thread in threading.enumerate() if thread.name.startswith("everdue-dispatch")}
    assert after <= before


def test_batches_go_out_several_at_a_time(service: StubService, queue: Queue) -> None:
    """Two thousand schedules due in one second are two hundred calls; one after the other they would take seconds."""
    together = threading.Barrier(4, timeout=5)
    service.before = together.wait
    dispatcher = SqsDispatcher(service.client("sqs"), f"{service.url}/1/q.fifo", stack="s", threads=4)
    assert dispatcher.dispatch([run(f"s{n}") for n in range(40)]).accepted == 40


class BrokenClient:
    """A client with a fault of its own for one schedule, while the service is away for all others."""

    def __init__(self) -> None:
        self.others = threading.Event()

    def send_message_batch(self, **parameters: Any) -> Any:
        if any('"subject":"s0"' in each["MessageBody"] for each in parameters["Entries"]):
            self.others.wait(5)
            raise RuntimeError("a fault nobody thought of")
        self.others.set()
        raise EndpointConnectionError(endpoint_url="nowhere")


def test_a_failure_in_one_thread_ends_the_others_early() -> None:
    """The whole hand-over comes again anyway; waiting for the others' whole budget would cost the lease."""
    dispatcher = SqsDispatcher(BrokenClient(), "q", stack="s", budget_seconds=30)  # type: ignore[arg-type]
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="nobody thought of"):
        dispatcher.dispatch([run(f"s{n}") for n in range(20)])
    assert time.monotonic() - began < 10


def test_the_messages_arrive_on_a_fifo_queue(sqs: Any, queue_url: str) -> None:
    """Body, group and deduplication id as the contract has them, in a queue that checks some of it."""
    dispatcher = SqsDispatcher(sqs, queue_url, stack="prod")
    runs = [Occurrence("reports", NOON, Parcel({"n": 1}, scheduleversion="v")), run("other ⏰")]
    assert dispatcher.dispatch(runs).accepted == 2
    assert dispatcher.dispatch(runs).accepted == 2  # a repeat is accepted, and swallowed by its key
    received = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"])
    bodies = [json.loads(each["Body"]) for each in received["Messages"]]
    assert [body["subject"] for body in bodies] == ["reports", "other ⏰"]
    assert bodies[0]["data"] == {"n": 1}
    assert all(len(each["Attributes"]["MessageGroupId"]) == 64 for each in received["Messages"])


@pytest.mark.parametrize("threads", [0, -1])
def test_no_thread_at_all_is_refused(threads: int) -> None:
    """It would wait for ever."""
    with pytest.raises(ValueError, match="threads"):
        SqsDispatcher(None, "q", stack="s", threads=threads)  # type: ignore[arg-type]
