"""A small server for the page of a session. It listens on the loopback address and answers who knows a token.

Requests without the token get no answer at all: the connection is closed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from hornbeam.drawing.figure import figure_style
from hornbeam.errors import HornbeamError
from hornbeam.report.live.session import LiveModel
from hornbeam.version import __version__

HOST = "127.0.0.1"
MOST_BYTES = 1 << 20
"""Size limit of a request."""
PATIENCE = 30
"""Seconds after which a connection that says nothing is closed."""


class LiveServer(ThreadingHTTPServer):
    """The server of one session; ``address`` has the token, which nobody else knows."""

    daemon_threads = True
    session: LiveModel

    def __init__(self, session: LiveModel, port: int = 0) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self.turn = threading.Lock()
        super().__init__((HOST, port), _Handler)

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def hosts(self) -> tuple[str, ...]:
        """The names by which a browser on this machine may call the server."""
        return (f"{HOST}:{self.server_port}", f"localhost:{self.server_port}")


Body = dict[str, Any]
_ANSWERS: dict[str, Callable[[LiveModel, Body], dict[str, Any]]] = {
    "state": lambda session, _: session.state(),
    "examples": lambda session, _: session.examples(),
    "example": lambda session, body: session.example(_whole(body, "place")),
    "find": lambda session, body: session.find(_text(body, "key")),
    "what-if": lambda session, body: session.what_if(_whole(body, "place"), _objects(body, "changes")),
    "edit": lambda session, body: session.edit([_text(body, "edit")], _text(body, "by")),
    "undo": lambda session, _: session.undo(),
    "save": lambda session, body: session.save(_text(body, "name")),
}
"""What a page may ask."""


class _BadRequestError(Exception):
    """A request that no page of ours sends."""


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise _BadRequestError
    return value


def _whole(body: Body, name: str) -> int:
    value = body.get(name)
    if type(value) is not int:
        raise _BadRequestError
    return value


def _objects(body: Body, name: str) -> list[Body]:
    value = body.get(name)
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _BadRequestError
    return value


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer
    timeout = PATIENCE
    server_version, sys_version = "hornbeam", ""

    def log_message(self, format: str, *arguments: object) -> None:
        """The address has the token, so requests are not logged."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Requests that are not understood get no answer either."""
        self.close_connection = True

    def do_GET(self) -> None:
        if self._asked() == "":
            html, policy = page()
            self._send(200, "text/html; charset=utf-8", html.encode(), policy)

    def do_POST(self) -> None:
        asked = self._asked()
        if asked is None:
            return
        answer = _ANSWERS.get(asked)
        if answer is None or self.headers.get_content_type() != "application/json":
            self._say(404, {"error": "there is no such page."})
            return
        try:
            body = self._body()
            with self.server.turn:
                self._say(200, answer(self.server.session, body))
        except HornbeamError as error:
            self._say(409, {"error": str(error)})
        except _BadRequestError:
            self._say(400, {"error": "the request is not understood; load the page again."})

    def _asked(self) -> str | None:
        """What is asked for; None, and no answer, without the token or under another host's name."""
        self.close_connection = True
        token, _, asked = self.path.removeprefix("/").partition("/")
        known = hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode())
        return asked if known and self.headers.get("Host") in self.server.hosts() else None

    def _body(self) -> Body:
        try:
            size = int(self.headers.get("Content-Length") or 0)
            if not 0 <= size <= MOST_BYTES:
                raise _BadRequestError
            body = json.loads(self.rfile.read(size) or b"{}")
        except (ValueError, RecursionError):
            raise _BadRequestError from None
        if not isinstance(body, dict):
            raise _BadRequestError
        return body

    def _say(self, status: int, value: dict[str, Any]) -> None:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        self._send(
            status, "application/json; charset=utf-8", text.encode("utf-8", "replace"), "default-src 'none'"
        )

    def _send(self, status: int, kind: str, content: bytes, policy: str) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(content))),
            ("Content-Security-Policy", policy),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def page() -> tuple[str, str]:
    """The page, which is the same for every model, and the policy of what it may do."""
    style = (
        figure_style()
        + _file("hornbeam.report.html", "style.css")
        + _file("hornbeam.report.live", "live.css")
    )
    script = _file("hornbeam.report.live", "live.js")
    html = _file("hornbeam.report.live", "live.html")
    for name, text in (("version", __version__), ("style", style), ("script", script)):
        html = html.replace(f"{{{{{name}}}}}", text)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return html, policy


def _file(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
