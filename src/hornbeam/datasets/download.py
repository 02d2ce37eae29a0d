"""Downloading a file: an interrupted download is resumed, and the file appears only when it is complete.

The bytes so far are in ``NAME.part`` beside the file, and ``NAME.part.json`` notes the server's name for this
version of the file. A later call resumes if the server still has this version; else it starts over.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hornbeam.errors import DataError
from hornbeam.version import __version__

OnProgress = Callable[[int, int | None], None]
"""Called with the number of bytes so far and of all bytes; None if the server does not send the total."""

_PIECE = 1 << 16
_CUT = (OSError, http.client.HTTPException)
"""Exceptions of a failed connection; ``urllib.error.URLError`` and time-outs are ``OSError``."""


class _State(NamedTuple):
    """The unfinished file and the note beside it."""

    part: Path
    note: Path

    @classmethod
    def of(cls, place: Path) -> _State:
        return cls(place.with_name(place.name + ".part"), place.with_name(place.name + ".part.json"))

    def size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def version(self, url: str) -> str | None:
        """The server's name for the version of the unfinished file; None if it is not known."""
        try:
            noted = json.loads(self.note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return noted.get("version") if noted.get("url") == url else None

    def forget(self) -> None:
        self.part.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def download(
    url: str,
    place: Path,
    on_progress: OnProgress | None = None,
    *,
    attempts: int = 4,
    pause: float = 1.0,
    timeout: float = 30.0,
) -> None:
    """Download a file to its place, following redirects.

    A connection that is cut is made again, after a pause that doubles each time, until ``attempts``
    connections in a row have brought nothing. The bytes so far are then kept for the next call.
    """
    state = _State.of(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    failed = 0
    while True:
        before = state.size()
        try:
            if _fetch(url, state, on_progress, timeout):
                break
            reason = "the connection was cut"
        except urllib.error.HTTPError as error:
            reason = f"the server answered {error.code} {error.reason}"
            error.close()
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                state.forget()
            elif error.code < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                raise DataError(f"{url} cannot be downloaded: {reason}.") from None
        except _CUT as error:
            reason = str(getattr(error, "reason", None) or error or type(error).__name__)
        failed = 0 if state.size() > before else failed + 1
        if failed >= attempts:
            raise DataError(
                f"{url} cannot be downloaded: {reason}; connect to the network and try again."
            ) from None
        time.sleep(pause * 2 ** max(failed - 1, 0))
    state.part.replace(place)
    state.forget()


def _fetch(url: str, state: _State, on_progress: OnProgress | None, timeout: float) -> bool:
    """Make one connection; return whether the file is complete after it."""
    request = urllib.request.Request(url, headers={"User-Agent": f"hornbeam/{__version__}"})
    start, version = state.size(), state.version(url)
    if start and version:
        request.add_header("Range", f"bytes={start}-")
        # If the server has a newer version, it sends the whole file.
        request.add_header("If-Range", version)
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0
            state.forget()
            tag = answer.headers.get("ETag", "")
            # A weak ETag does not promise the same bytes, so it cannot be used to resume a download.
            version = tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified")
            if version:
                state.note.write_text(json.dumps({"url": url, "version": version}), encoding="utf-8")
        elif not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            state.forget()
            return False
        length = answer.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        with state.part.open("ab" if start else "wb") as file:
            done = _copy(answer, file, start, total, on_progress)
    return total is None or done == total


def _copy(
    answer: http.client.HTTPResponse,
    file: BinaryIO,
    done: int,
    total: int | None,
    on_progress: OnProgress | None,
) -> int:
    while piece := answer.read(_PIECE):
        file.write(piece)
        done += len(piece)
        if on_progress is not None:
            on_progress(done, total)
    return done
