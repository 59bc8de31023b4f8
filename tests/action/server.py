"""A git server on loopback: `git http-backend` behind Python's http.server, with a token if one is set."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BACKEND = ["git", "http-backend"]  # by way of git, which knows its own helpers wherever it was unpacked


class GitHandler(BaseHTTPRequestHandler):
    """Bridges one request to the backend's CGI (RFC 3875), as far as git needs it."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer: a header that waits for its acknowledgement takes 40 ms
    disable_nagle_algorithm = True
    server: GitServer

    def do_GET(self) -> None:
        self.bridge()

    def do_POST(self) -> None:
        self.bridge()

    def bridge(self) -> None:
        body = self.body()
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        if not self.allowed():
            self.answer(401, [("WWW-Authenticate", 'Basic realm="git"')], b"")
            return
        path, _, query = self.path.partition("?")
        done = subprocess.run(
            BACKEND, input=body, env=self.environment(path, query), capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.decode().split(": ", 1)) for line in head.split(b"\r\n") if line]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200)
        self.answer(status, [(n, v) for n, v in headers if n != "Status"], content)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def allowed(self) -> bool:
        wanted = self.server.token
        if not wanted:
            return True
        kind, _, said = self.headers.get("Authorization", "").partition(" ")
        return kind.lower() == "basic" and base64.b64decode(said).decode() == f"x-access-token:{wanted}"

    def environment(self, path: str, query: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_ADDR": self.client_address[0],
        }

    def answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


class GitServer(ThreadingHTTPServer):
    """Serves every repository below `root`; `seen` are the requests so far."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), GitHandler)
        self.root = root
        self.token = ""
        self.seen: list[tuple[str, str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class ApiHandler(BaseHTTPRequestHandler):
    """Answers what a test has put there, and 404 to everything else."""

    server: ApiServer

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        status, document = self.server.answers.get(
            self.path.partition("?")[0], (404, {"message": "Not Found"})
        )
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


class ApiServer(ThreadingHTTPServer):
    """A forge's API: `answers` by path, `seen` the paths that were asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ApiHandler)
        self.answers: dict[str, tuple[int, object]] = {}
        self.seen: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    """Run a server in a thread for as long as the block runs."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
