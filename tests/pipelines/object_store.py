"""A real S3 server on loopback that fails on request: moto behind a middleware with 503s and slow answers."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import fsspec
import pytest
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

_BUSY = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class FaultyStore:
    """The store as a WSGI application: some requests are refused or late, and after `working` of them all refused."""

    def __init__(self, random_seed: int) -> None:
        self._store = DomainDispatcherApplication(create_backend_app)
        self._random, self._lock = random.Random(random_seed), threading.Lock()
        self.busy, self.slow, self.working = 0.0, 0.0, None
        self.requests = self.refused = 0

    def __call__(self, environment: dict[str, Any], respond: Callable) -> Iterable[bytes]:
        with self._lock:
            self.requests += 1
            late, refuse = self._random.random() < self.slow, self._random.random() < self.busy
            refuse |= self.working is not None and self.requests > self.working
            self.refused += refuse
        if late:
            time.sleep(0.05)
        if refuse:
            environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
            body = b"" if environment["REQUEST_METHOD"] == "HEAD" else _BUSY
            respond(
                "503 Service Unavailable", [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
            )
            return [body]
        return self._store(environment, respond)


@contextmanager
def served(store: FaultyStore, monkeypatch: pytest.MonkeyPatch, attempts: int = 5) -> Iterator[str]:
    """Serve the store, with s3:// URLs of this process and its children going there; gives the URL of a bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, store, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    given = {
        "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": str(attempts),
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    fsspec.filesystem("s3").clear_instance_cache()
    bucket = f"corpora-{server.server_port}"  # buckets outlive a server
    try:
        fsspec.filesystem("s3").mkdir(bucket)
        yield f"s3://{bucket}"
    finally:
        fsspec.filesystem("s3").clear_instance_cache()
        server.shutdown()
        thread.join()
