"""A PostgreSQL server for the tests: the one that HORNBEAM_POSTGRES names, or a private one.

A private server runs in a folder of its own on a free port, with trust for local connections only,
as the user ``postgres`` where the tests run as root, and is stopped and removed at the end.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from functools import cache
from pathlib import Path


def can_run_postgres() -> bool:
    """Whether a server is named, or a server program is there to start."""
    return bool(os.environ.get("HORNBEAM_POSTGRES")) or _programs() is not None


@cache
def postgres() -> str:
    """How to connect to a server; from now on engines of this process find it by PGHOST and the like."""
    from psycopg.conninfo import conninfo_to_dict

    server = os.environ.get("HORNBEAM_POSTGRES") or start()[0]
    words = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
    given = conninfo_to_dict(server)
    os.environ.update({words[key]: str(given[key]) for key in words if given.get(key)})
    return server


def _programs() -> Path | None:
    found = shutil.which("initdb")
    if found and shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return folders[-1].parent if folders else None


def start() -> tuple[str, Path]:
    """A fresh server: how to connect to it, and its folder, which ``stop`` takes."""
    programs = _programs()
    assert programs is not None, "no initdb and pg_ctl found"
    folder = Path(tempfile.mkdtemp(prefix="hornbeam-postgres-"))
    owner = _owner()
    if owner:
        shutil.chown(folder, owner)
    data = folder / "data"
    text = ("-E", "UTF8", "--locale=C")
    _run(programs / "initdb", "-D", data, "-A", "trust", "-U", "hornbeam", "--no-sync", *text)
    port = _free_port()
    options = f"-p {port} -k {folder} -c listen_addresses='' -c fsync=off -c shared_buffers=64MB"
    _run(programs / "pg_ctl", "-D", data, "-l", folder / "log", "-o", options, "-w", "start")
    atexit.register(stop, folder)
    return f"host={folder} port={port} user=hornbeam dbname=postgres", folder


def stop(folder: Path, mode: str = "immediate") -> None:
    """Stop a server that ``start`` started, and remove its folder."""
    programs = _programs()
    if programs is not None and folder.exists():
        _run(programs / "pg_ctl", "-D", folder / "data", "-m", mode, "-w", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)


def halt(folder: Path) -> None:
    """End a server that ``start`` started, as a power failure does."""
    programs = _programs()
    assert programs is not None
    _run(programs / "pg_ctl", "-D", folder / "data", "-m", "immediate", "-w", "stop")


def resume(folder: Path) -> None:
    """Start a server again that ``halt`` ended, at the same address."""
    programs = _programs()
    assert programs is not None
    _run(programs / "pg_ctl", "-D", folder / "data", "-l", folder / "log", "-w", "restart")


def _run(program: Path, *words: object, check: bool = True) -> None:
    subprocess.run(
        [program, *map(str, words)],
        check=check,
        user=_owner(),
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _owner() -> str | None:
    """The server refuses to run as root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
