"""A local HTTP service in AWS's JSON protocol, for what moto never does: lose an answer, throttle, fail in part.

It answers with what AWS documents, so that the tests hold the adapters to AWS and not to an emulator's leniency.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import boto3
from botocore.config import Config

Respond = Callable[[str, dict[str, Any]], "Answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service says: a body and a status. `lost`: it hangs up instead."""

    body: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    lost: bool = False


def error(code: str, message: str = "", *, status: int = 400, **more: Any) -> Answer:
    """An error in the JSON protocol. SQS adds the code of its older protocol, prefix and all: see the handler."""
    return Answer({"__type": f"com.amazonaws#{code}", "message": message, **more}, status)


class StubService:
    """Serves one test. `respond` decides, one request at a time; `before` is called first, by as many as there are.
    `calls` lists every request as (operation, parameters)."""

    def __init__(self) -> None:
        self.respond: Respond = lambda operation, parameters: Answer()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.date: str | None = None
        self.before: Callable[[], object] = lambda: None
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def client(self, name: str, *, attempts: int = 1) -> Any:
        """A client of it. By default one attempt, so that a test sees each failure itself."""
        config = Config(connect_timeout=2, read_timeout=2, retries={"total_max_attempts": attempts, "mode": "standard"})
        return boto3.client(name, endpoint_url=self.url, config=config)

    def script(self, *answers: Answer) -> None:
        """Answer with these in order; the last one from then on."""
        queue = list(answers)
        self.respond = lambda operation, parameters: queue.pop(0) if len(queue) > 1 else queue[0]

    def operations(self) -> list[str]:
        """The operations asked for, in order."""
        return [operation for operation, _ in self.calls]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                parameters = json.loads(self.rfile.read(length) or b"{}")
                operation = self.headers.get("X-Amz-Target", "").rsplit(".", 1)[-1]
                stub.before()
                with stub._lock:
                    stub.calls.append((operation, parameters))
                    answer = stub.respond(operation, parameters)
                if answer.lost:
                    self.close_connection = True
                    self.connection.close()
                    return
                self._answer(answer)

            def _answer(self, answer: Answer) -> None:
                body = json.dumps(answer.body).encode()
                self.send_response_only(answer.status)
                self.send_header("Date", stub.date or self.date_time_string())
                self.send_header("Content-Type", "application/x-amz-json-1.0")
                self.send_header("Content-Length", str(len(body)))
                code = answer.body.get("__type", "").rsplit("#", 1)[-1]
                if code and self.headers.get("X-Amz-Target", "").startswith("AmazonSQS."):
                    self.send_header("x-amzn-query-error", f"AWS.SimpleQueueService.{code};Sender")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Keep the test's output clean."""

        return Handler
