"""Downloads over a real connection: cut, moved, missing, changed; and nothing half-written, ever."""

import io
import os
import socket
import zipfile
from dataclasses import replace

import pytest

from hornbeam.datasets import data_set
from hornbeam.datasets.archive import get
from hornbeam.datasets.catalogue import DataSet, OneFolder
from hornbeam.datasets.download import download
from hornbeam.datasets.places import cache_folder, find, sha256_of
from hornbeam.errors import DataError
from hornbeam.files import locked
from web import Site, serving

BODY = os.urandom(300_000)


@pytest.fixture
def site():
    with serving(Site({"/file": BODY}, versions={"/file": '"one"'})) as running:
        yield running


@pytest.fixture
def place(tmp_path):
    return tmp_path / "folder" / "file"


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_with_its_progress(site, place):
    seen = []
    download(f"{site.url}/file", place, lambda done, total: seen.append((done, total)))
    assert place.read_bytes() == BODY
    assert names_in(place.parent) == ["file"]
    assert seen[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_redirect_is_followed(site, place):
    site.moved["/old"] = "/file"
    download(f"{site.url}/old", place)
    assert place.read_bytes() == BODY


def test_a_cut_connection_is_taken_up_where_it_was_cut(site, place):
    site.cut_after = [100_000, 50_000]
    download(f"{site.url}/file", place, pause=0)
    assert place.read_bytes() == BODY
    assert site.asked == [None, "bytes=100000-", "bytes=150000-"]


def test_what_has_arrived_is_kept_for_the_next_call(site, place):
    site.cut_after = [100_000, 0, 0]
    with pytest.raises(DataError, match="cannot be downloaded: the connection was cut; connect"):
        download(f"{site.url}/file", place, attempts=2, pause=0)
    assert not place.exists()
    assert names_in(place.parent) == ["file.part", "file.part.json"]
    download(f"{site.url}/file", place, pause=0)
    assert place.read_bytes() == BODY
    assert names_in(place.parent) == ["file"]
    assert site.asked[-1] == "bytes=100000-"


def test_a_file_that_changed_meanwhile_is_fetched_anew(site, place):
    site.cut_after = [100_000, 0]
    with pytest.raises(DataError):
        download(f"{site.url}/file", place, attempts=1, pause=0)
    site.content["/file"], site.versions["/file"] = b"new" * 50_000, '"two"'
    download(f"{site.url}/file", place, pause=0)
    assert place.read_bytes() == b"new" * 50_000


@pytest.mark.parametrize("version", [None, 'W/"weak"'])
def test_without_a_firm_version_nothing_is_joined(site, place, version):
    site.versions["/file"] = version
    site.cut_after = [100_000]
    download(f"{site.url}/file", place, pause=0)
    assert place.read_bytes() == BODY
    assert site.asked == [None, None]


def test_a_server_without_ranges_sends_all_again(site, place):
    site.ranges = False
    site.cut_after = [100_000]
    download(f"{site.url}/file", place, pause=0)
    assert place.read_bytes() == BODY


def test_a_file_of_unknown_length_ends_with_its_connection(site, place):
    site.length = False
    download(f"{site.url}/file", place)
    assert place.read_bytes() == BODY


def test_a_part_longer_than_the_file_is_thrown_away(site, place):
    site.cut_after = [100_000, 0]
    with pytest.raises(DataError):
        download(f"{site.url}/file", place, attempts=1, pause=0)
    site.content["/file"] = BODY[:50_000]
    download(f"{site.url}/file", place, pause=0)
    assert place.read_bytes() == BODY[:50_000]


def test_a_missing_file_is_not_asked_for_twice(site, place):
    with pytest.raises(DataError, match=r"/gone cannot be downloaded: the server answered 404 Not Found\.$"):
        download(f"{site.url}/gone", place, pause=0)
    assert len(site.asked) == 1
    assert names_in(place.parent) == []


def test_a_server_in_trouble_is_asked_again(site, place):
    site.statuses = [503, 503]
    download(f"{site.url}/file", place, pause=0)
    assert place.read_bytes() == BODY


def test_without_a_network_it_says_so(place):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file"
        with pytest.raises(DataError, match="Connection refused; connect to the network and try again"):
            download(url, place, attempts=2, pause=0)


# --- archives ------------------------------------------------------------------------------------

FILES = {
    "background.txt": b"smokes(+person).\ncancer(+person).\n",
    "train/train_pos.txt": b"cancer(ann).\n",
    "train/train_neg.txt": b"cancer(bob).\n",
    "train/train_facts.txt": b"smokes(ann).\n",
    "test/test_pos.txt": b"cancer(cat).\n",
    "test/test_neg.txt": b"cancer(dan).\n",
    "test/test_facts.txt": b"smokes(cat).\n",
}


def zipped(files, around="toy_v1/toy/"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(around + name, content)
    return buffer.getvalue()


@pytest.fixture
def toy(site, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HORNBEAM_DATA", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    site.content["/toy.zip"] = zipped({**FILES, "README.md": b"not ours"})
    pins = {name: sha256_of(content) for name, content in FILES.items()}
    home = "https://example.org/toy"
    return DataSet("toy", "toy", "cancer", 1, OneFolder(), "toy", home, "MIT", f"{site.url}/toy.zip", pins)


def test_a_data_set_is_downloaded_checked_and_found_again(toy, site):
    assert find(toy) is None
    folder = get(toy)
    assert folder == cache_folder() / "toy" == find(toy)
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert not (folder / "README.md").exists()
    assert names_in(cache_folder()) == [".toy.lock", "toy"]
    assert get(toy) == folder
    assert len(site.asked) == 1


def test_a_file_with_another_checksum_leaves_nothing_behind(toy, site):
    site.content["/toy.zip"] = zipped({**FILES, "test/test_pos.txt": b"cancer(eve).\n"})
    found = sha256_of(b"cancer(eve).\n")
    with pytest.raises(DataError, match=rf"test/test_pos\.txt in .* has the SHA-256 {found}, not .*nothing"):
        get(toy)
    assert names_in(cache_folder()) == [".toy.lock"]


def test_an_archive_without_a_file_of_ours_is_refused(toy, site):
    site.content["/toy.zip"] = zipped({"train/train_pos.txt": b""})
    with pytest.raises(DataError, match=r"toy\.zip lacks background\.txt: it is not the published archive"):
        get(toy)
    site.content["/toy.zip"] = zipped({**FILES, "more/background.txt": b""})
    with pytest.raises(DataError, match=r"has more than one background\.txt"):
        get(toy)
    assert names_in(cache_folder()) == [".toy.lock"]


@pytest.mark.parametrize("damaged", [b"<html>log in</html>", zipped(FILES)[:-40]])
def test_what_is_no_archive_is_refused(toy, site, damaged):
    site.content["/toy.zip"] = damaged
    with pytest.raises(DataError, match=r"toy\.zip is damaged or not an archive"):
        get(toy)
    assert names_in(cache_folder()) == [".toy.lock"]


def test_bits_that_flipped_inside_an_archive_are_noticed(toy, site):
    good = bytearray(zipped(FILES))
    place = good.index(FILES["background.txt"][:4]) if FILES["background.txt"][:4] in good else 60
    good[place] ^= 0xFF
    site.content["/toy.zip"] = bytes(good)
    with pytest.raises(DataError, match="nothing was kept"):
        get(toy)
    assert find(toy) is None


def test_a_spoilt_copy_in_the_cache_is_downloaded_again_and_one_elsewhere_refused(toy, monkeypatch):
    folder = get(toy)
    (folder / "background.txt").write_text("spoilt")
    assert get(toy) == folder
    assert (folder / "background.txt").read_bytes() == FILES["background.txt"]
    (folder / "background.txt").write_text("spoilt")
    monkeypatch.setenv("HORNBEAM_DATA", str(cache_folder()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_folder() / "other"))
    with pytest.raises(DataError, match=r"background\.txt has another SHA-256 than the published file"):
        get(toy)


def test_offline_the_error_says_what_to_do(toy):
    gone = replace(toy, url="http://127.0.0.1:9/toy.zip")
    with pytest.raises(DataError) as raised:
        get(gone, pause=0)
    said = str(raised.value)
    assert said.startswith('data set "toy" is not on this machine, and http://127.0.0.1:9/toy.zip cannot')
    assert said.endswith("set HORNBEAM_DATA to the folder that holds its folder toy.")


def test_data_without_a_known_archive_or_without_files_are_never_fetched(toy):
    with pytest.raises(DataError, match=r"Hornbeam knows no archive of it; get it from https://example\.org"):
        get(replace(toy, url=""))
    with pytest.raises(DataError, match='data set "smokes" is generated: there is nothing to download'):
        get(data_set("smokes"))


def test_two_processes_do_not_download_into_one_place(toy):
    cache_folder().mkdir(parents=True)
    with (
        locked(cache_folder() / ".toy.lock", "held"),
        pytest.raises(DataError, match='data set "toy" is being downloaded by another process; wait'),
    ):
        get(toy)
    assert get(toy).is_dir()
