"""The verb ``serve``: who may ask, what is answered, and what is saved."""

import http.client
import json
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import hornbeam as hb
from hornbeam.datasets.worlds import shop_files, smokers, write_shop
from hornbeam.engines.registry import open_engine
from hornbeam.in_place.load import load_quietly
from hornbeam.model.clause_model import Model
from hornbeam.report.live.server import LiveServer
from hornbeam.report.live.session import LiveModel
from hornbeam.report.live.what_if import ChangeableTables


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A folder with the shop and a model of it."""
    folder = tmp_path_factory.mktemp("serve")
    write_shop(folder)
    database = load_quietly(folder / "shop", target="customers.churned", examples=folder / "train.csv")
    classifier = hb.RLRClassifier(database=database, n_bags=2, max_effects=4, per_constant=False)
    hb.save_model(classifier.fit(*database.examples()).model_, folder / "m.json")
    return folder


@contextmanager
def serving(folder: Path, where: Path):
    model = hb.load_model(folder / "m.json")
    database = load_quietly(folder / "shop", origin=model.settings, examples=folder / "test.csv")
    tables = ChangeableTables(folder / "shop", model.settings, {})
    session = LiveModel(
        model, open_engine("memory", database), database.examples_of("churned"), tables, where
    )
    with LiveServer(session) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def server(learned, tmp_path):
    with serving(learned, tmp_path) as server:
        yield server


def ask(server, what, body=None, **headers):
    """The status and the JSON of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    given = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): each for name, each in headers.items()
    }
    connection.request("POST", f"/{server.token}/{what}", json.dumps(body or {}), given)
    answer = connection.getresponse()
    value = json.loads(answer.read())
    connection.close()
    return answer.status, value


def raw(server, request: str) -> bytes:
    """All bytes that the server sends for a request."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as talk:
        talk.sendall(request.encode())
        talk.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: talk.recv(65536), b""))


def test_nothing_listens_beyond_the_loopback_address(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "line",
    [
        "GET / HTTP/1.1",
        "GET /wrong/ HTTP/1.1",
        "GET /{short}/ HTTP/1.1",
        "POST /state HTTP/1.1",
        "POST /wrong/state HTTP/1.1",
        "PUT /{token}/state HTTP/1.1",
        "OPTIONS /{token}/ HTTP/1.1",
        "nonsense",
    ],
)
def test_without_the_token_no_byte_is_answered(line, server):
    text = line.format(token=server.token, short=server.token[:-1])
    host = f"127.0.0.1:{server.server_port}"
    assert raw(server, f"{text}\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{{}}") == b""


def test_under_another_name_no_byte_is_answered(server):
    assert raw(server, f"GET /{server.token}/ HTTP/1.1\r\nHost: evil.example\r\n\r\n") == b""
    page = raw(server, f"GET /{server.token}/ HTTP/1.1\r\nHost: localhost:{server.server_port}\r\n\r\n")
    assert page.startswith(b"HTTP/1.0 200")
    assert b"default-src 'none'" in page
    assert b"Cache-Control: no-store" in page


@pytest.mark.parametrize(
    ("what", "body", "status"),
    [
        ("nothing", {}, 404),
        ("example", {"place": "1"}, 400),
        ("what-if", {"place": 1, "changes": [3]}, 400),
        ("example", {"place": -1}, 409),
        ("what-if", {"place": 1, "changes": [{"table": 3, "row": 1, "column": "age"}]}, 409),
        ("find", {"key": "nobody"}, 409),
        ("undo", {}, 409),
        ("edit", {"edit": "off 99", "by": ""}, 409),
    ],
)
def test_what_cannot_be_answered_is_an_error(what, body, status, server):
    found, value = ask(server, what, body)
    assert found == status
    assert value["error"]


def test_forms_of_other_pages_are_not_read(server):
    assert ask(server, "undo", {}, Content_Type="text/plain")[0] == 404


def test_edits_have_the_loss_of_evaluate_can_be_undone_and_are_saved(
    learned, server, tmp_path, run, monkeypatch
):
    monkeypatch.chdir(learned)
    start = ask(server, "state")[1]
    first = start["effects"][0]["name"]
    ask(server, "edit", {"edit": f"straighten {first}", "by": "Ann"})
    ask(server, "edit", {"edit": "off 2", "by": "Ann"})
    assert ask(server, "undo")[1]["undo"] == 1
    state = ask(server, "edit", {"edit": "round all", "by": "Bob"})[1]
    assert ask(server, "save", {"name": "mine.json"})[1]["saved"] == "mine.json"
    model, saved = hb.load_model("m.json"), hb.load_model(tmp_path / "mine.json")
    assert isinstance(model, Model)
    assert saved == model.edited(f"straighten {first}", by="Ann").edited("round all", by="Bob")
    scores = json.loads(
        run("evaluate", "shop", tmp_path / "mine.json", "--examples", "test.csv", "--json").out
    )
    assert state["loss"]["value"] == pytest.approx(scores["log_loss"], rel=1e-12)
    assert start["first_loss"] == state["first_loss"]
    for name in ("mine.json", "../out.json", "/tmp/out.json", "out.txt", ".json"):
        assert ask(server, "save", {"name": name})[0] == 409
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def test_what_the_page_says_of_an_example_is_what_explain_says(learned, server, run, monkeypatch):
    monkeypatch.chdir(learned)
    place = ask(server, "find", {"key": "c450"})[1]["place"]
    answer = ask(server, "example", {"place": place})[1]
    explained = json.loads(run("explain", "shop", "m.json", "c450", "--json").out)
    assert answer["after"]["score"] == explained["log_odds"]
    assert answer["prior"] == explained["prior"]
    assert sorted(part["after"] for part in answer["parts"]) == sorted(
        reason["contribution"] for reason in explained["reasons"]
    )
    listed = ask(server, "examples")[1]
    assert listed["total"] == 200
    assert listed["rows"][place]["key"] == "c450"
    assert listed["rows"][place]["predicted"] == pytest.approx(explained["probability"])


def test_the_command_prints_an_address_and_ends_when_interrupted(learned):
    command = [sys.executable, "-m", "hornbeam", "serve", "m.json", "shop", "--examples", "test.csv"]
    with subprocess.Popen(
        command, cwd=learned, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        address = urlsplit(served.stdout.readline().strip())
        assert address.hostname == "127.0.0.1"
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
        connection.request("GET", address.path)
        assert connection.getresponse().status == 200
        served.terminate()
        _, err = served.communicate(timeout=30)
    assert "Ctrl-C ends it" in err
    assert "Traceback" not in err


def test_what_cannot_be_served_is_said_in_one_sentence(learned, run, monkeypatch, tmp_path):
    monkeypatch.chdir(learned)
    swapped = run("serve", "shop", "m.json")
    assert swapped.status == 2
    assert "the model comes first: hornbeam serve m.json shop" in swapped.err
    assert "--class is refused" in run("serve", "m.json", "shop", "--class", "a").err


def test_facts_have_no_what_if(tmp_path):
    database = smokers(n_persons=60)
    classifier = hb.RLRClassifier(database=database, target="cancer", n_bags=1, validate=False, n_steps=5)
    model = classifier.fit(*database.examples("cancer")).model_
    session = LiveModel(
        model, open_engine("memory", database), database.examples_of("cancer"), None, tmp_path
    )
    assert session.state()["what_if"] is False
    with pytest.raises(hb.HornbeamError, match="the data are no tables"):
        session.what_if(0, [])


def test_the_files_of_the_shop_are_those_of_the_tutorial():
    assert shop_files()["shop/customers.csv"].count("\n") == 601
