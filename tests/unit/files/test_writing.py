"""Output files are written whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hornbeam.errors import DataError
from hornbeam.files import TEMPORARY, remove_leftovers, write_file


def test_text_bytes_and_pieces_are_written_as_given(tmp_path: Path) -> None:
    write_file(tmp_path / "text", "naïve\r\nline\n")
    write_file(str(tmp_path / "bytes"), b"\x00\xff")
    write_file(tmp_path / "pieces", (f"{number}\n" for number in range(3)))
    assert (tmp_path / "text").read_bytes() == "naïve\r\nline\n".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert (tmp_path / "pieces").read_text() == "0\n1\n2\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bytes", "pieces", "text"]


def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    write_file(path, "old")

    def pieces() -> Iterator[str]:
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(path, pieces())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_new_content_is_on_disk_before_it_takes_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, rename = os.fsync, os.replace

    def fsync(number: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "file")
        sync(number)

    def replace(*args: object, **kwargs: object) -> None:
        done.append("rename")
        rename(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write_file(tmp_path / "out", "content")
    assert done == ["file", "rename", "folder"]


def test_permissions_are_those_of_the_old_file_or_of_any_new_file(tmp_path: Path) -> None:
    plain, written = tmp_path / "plain", tmp_path / "written"
    plain.write_text("")
    write_file(written, "")
    assert written.stat().st_mode == plain.stat().st_mode
    written.chmod(0o604)
    write_file(written, "again")
    assert stat.S_IMODE(written.stat().st_mode) == 0o604


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_file(pipe, "through")
    reader.join()
    assert read == ["through"]
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("name", "reason"),
    [("absent/out.csv", "No such file or directory"), ("folder", "it is a folder")],
)
def test_what_cannot_be_written_is_one_sentence(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError) as error:
        write_file(tmp_path / name, "content")
    assert str(error.value) == (
        f"{tmp_path / name}: cannot be written ({reason}); "
        "name a file in an existing folder that you may write to."
    )


def test_a_file_that_is_being_written_is_no_leftover(tmp_path: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "first "
        remove_leftovers(tmp_path, "a")
        yield "second"

    write_file(tmp_path / "a", pieces())
    assert (tmp_path / "a").read_text() == "first second"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


REWRITE = """
import sys
from pathlib import Path
from hornbeam.files import remove_leftovers, write_file
folder = Path(sys.argv[1])
for number in range(300):
    remove_leftovers(folder, "a")
    write_file(folder / "a", "x" * 1000)
"""


def test_processes_that_save_in_one_folder_do_not_disturb_each_other(tmp_path: Path) -> None:
    words = [sys.executable, "-c", REWRITE, str(tmp_path)]
    runs = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [run.communicate()[1] for run in runs] == ["", "", ""]
    assert (tmp_path / "a").read_text() == "x" * 1000


def test_leftovers_of_killed_runs_are_removed_and_nothing_else(tmp_path: Path) -> None:
    write_file(tmp_path / "a", "kept")
    (tmp_path / ".a.0123abcd.hornbeam-tmp").write_text("half")
    (tmp_path / ".b.0123abcd.hornbeam-tmp").write_text("of another file")
    remove_leftovers(tmp_path, "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.0123abcd.hornbeam-tmp", "a"]


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    """The file of a writer that still runs stays, and so do files of other names."""
    path = tmp_path / "out[1].csv"
    write_and_wait = (
        "import sys, time; from hornbeam.files import write_file\n"
        "def pieces():\n    yield 'half'\n    print('begun', flush=True)\n    time.sleep(600)\n"
        "write_file(sys.argv[1], pieces())"
    )
    command = [sys.executable, "-c", write_and_wait, str(path)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as killed,
        subprocess.Popen(command, stdout=subprocess.PIPE) as running,
    ):
        for process in (killed, running):
            assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        killed.kill()
        killed.wait()
        other = tmp_path / f".out1.csv.00{TEMPORARY}"
        other.touch()
        assert len(list(tmp_path.iterdir())) == 3
        write_file(path, "whole")
        assert sorted(each.name.startswith(".") for each in tmp_path.iterdir()) == [False, True, True]
        running.kill()
    write_file(path, "again")
    assert sorted(tmp_path.iterdir()) == [other, path]
    assert path.read_text() == "again"
