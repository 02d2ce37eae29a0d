"""A web server on the loopback address that misbehaves as told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server has and does; ``asked`` is the range of each request, in order."""

    content: dict[str, bytes] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    cut_after: list[int] = field(default_factory=list)
    """for the next answers in turn, how many bytes are sent before the connection is cut"""
    statuses: list[int] = field(default_factory=list)
    """what the next requests are answered with instead of a file"""
    ranges: bool = True
    length: bool = True
    asked: list[str | None] = field(default_factory=list)
    url: str = ""


class _Handler(BaseHTTPRequestHandler):
    site: Site
    protocol_version = "HTTP/1.0"

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        site = self.site
        if self.path in site.moved:
            self.send_response(302)
            self.send_header("Location", site.moved[self.path])
            self.end_headers()
            return
        site.asked.append(self.headers.get("Range"))
        if site.statuses:
            self.send_error(site.statuses.pop(0))
            return
        if self.path not in site.content:
            self.send_error(404)
            return
        body, version = site.content[self.path], site.versions.get(self.path)
        start = 0
        wanted = self.headers.get("Range")
        if wanted and site.ranges and self.headers.get("If-Range") in (None, version):
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if version:
            self.send_header("ETag", version)
        if site.length:
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        sent = body[start:]
        if site.cut_after:
            sent = sent[: site.cut_after.pop(0)]
        self.wfile.write(sent)


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    handler = type("Handler", (_Handler,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
