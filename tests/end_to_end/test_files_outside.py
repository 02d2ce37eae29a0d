"""Data name no file outside their folder and the folder above, unless that is allowed."""

import duckdb
import pytest

import hornbeam as hb
from hornbeam.cli.app import main
from hornbeam.errors import DataError, EngineError

ENGINES = [None, "duckdb"]
REFUSED = "is not read, because it is neither in"
USERS = "id,age,old\n1,20,true\n2,30,false\n3,40,true\n"
SECRET = "id,town\n6,paris\n7,paris\n8,rome\n9,rome\n"
TOWNS = ("paris", "rome")


@pytest.fixture
def data(tmp_path):
    """A folder two folders below one that it must not read."""
    folder = tmp_path / "home" / "shared" / "data"
    folder.mkdir(parents=True)
    (folder.parent / "x").mkdir()
    return folder


def write_facts(folder, background=""):
    (folder / "facts.txt").write_text("parent(ann, bob).\n")
    (folder / "pos.txt").write_text("father(ann, bob).\n")
    (folder / "neg.txt").write_text("father(bob, ann).\n")
    (folder / "background.txt").write_text(f"mode: parent(+person, -person).\n{background}")


def write_tables(folder, file):
    (folder / "users.csv").write_text(USERS)
    (folder / "schema.toml").write_text(f'[others]\nfile = "{file}"\nkey = "id"\n')


OUTSIDE = ["../../secret.{0}", "../x/../../secret.{0}", "{1}/secret.{0}"]
"""paths of a file that is not part of the data, with {0} for its ending and {1} for its folder"""


@pytest.mark.parametrize("path", OUTSIDE)
def test_imports_stay_in_the_folder_of_the_data_or_the_one_above(data, path):
    home = data.parents[1]
    (home / "secret.txt").write_text("male(ann).\n")
    name = path.format("txt", home)
    write_facts(data, f'mode: male(+person).\nimport: "{name}".\n')
    with pytest.raises(DataError, match=REFUSED) as refused:
        hb.load(data)
    assert str(refused.value).startswith(f"{data / 'background.txt'}:3:1: ")
    assert "--allow-outside" in str(refused.value)
    assert len(hb.load(data, allow_outside=True).relation("male")) == 1


def test_imports_of_imports_stay_inside_too(data):
    (data.parents[1] / "secret.txt").write_text("male(ann).\n")
    (data.parent / "more.txt").write_text('import: "../secret.txt".\n')
    write_facts(data, 'mode: male(+person).\nimport: "../more.txt".\n')
    with pytest.raises(DataError, match=REFUSED) as refused:
        hb.load(data)
    assert str(refused.value).startswith(f"{data.parent / 'more.txt'}:1:1: ")
    (data.parent / "more.txt").write_text("male(ann).\n")
    assert len(hb.load(data).relation("male")) == 1


def test_imports_behind_links_are_read(data):
    far = data.parents[1] / "far"
    far.mkdir()
    (far / "more.txt").write_text('import: "most.txt".\n')
    (far / "most.txt").write_text("male(ann).\n")
    write_facts(data)
    (data / "background.txt").rename(far / "background.txt")
    with (far / "background.txt").open("a") as file:
        file.write('mode: male(+person).\nimport: "more.txt".\n')
    (data / "background.txt").symlink_to(far / "background.txt")
    assert len(hb.load(data).relation("male")) == 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", OUTSIDE)
def test_files_of_tables_are_in_the_folder_of_the_data_or_the_one_above(data, path, engine):
    home = data.parents[1]
    (home / "secret.csv").write_text(SECRET)
    write_tables(data, path.format("csv", home))
    with pytest.raises(DataError, match=REFUSED) as refused:
        hb.load(data, target="users.old", engine=engine)
    assert str(refused.value).startswith(str(data / "schema.toml"))
    with hb.load(data, target="users.old", engine=engine, allow_outside=True) as allowed:
        assert allowed.frequent("town", 1, 2) == TOWNS


@pytest.mark.parametrize("engine", ENGINES)
def test_files_of_tables_may_be_in_the_folder_above_or_behind_a_link(data, engine):
    (data.parents[1] / "secret.csv").write_text(SECRET)
    (data.parent / "link.csv").symlink_to(data.parents[1] / "secret.csv")
    write_tables(data, "../link.csv")
    with hb.load(data, target="users.old", engine=engine) as database:
        assert database.frequent("town", 1, 2) == TOWNS


HALF = "SELECT range AS id, CASE WHEN range < 2 THEN 'paris' ELSE"
READERS = [
    "SELECT * FROM read_csv('{0}/secret.csv')",
    "SELECT * FROM '{0}/secret.csv'",
    f"{HALF} (SELECT 'rome' FROM read_text('{{0}}/secret.csv')) END AS town FROM range(4)",
    f"{HALF} (SELECT 'rome' FROM glob('{{0}}/secret*')) END AS town FROM range(4)",
]


def write_duckdb(folder, reader):
    (folder / "secret.csv").write_text(SECRET)
    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, age INTEGER, old BOOLEAN)")
        made.execute("INSERT INTO users VALUES (1, 20, true), (2, 30, false), (3, 40, true)")
        made.execute("CREATE VIEW pairs AS SELECT id AS first, 4 - id AS second FROM users")
        made.execute(f"CREATE VIEW others AS {reader.format(folder)}")
    return path


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("reader", READERS)
def test_views_of_a_duckdb_file_read_no_files(data, reader, engine):
    path = write_duckdb(data, reader)
    links = {"links": {"first": "users", "second": "users"}}
    stated = {"others": {"key": "id"}, "pairs": links}
    given = {"target": "users.old", "engine": engine}
    with pytest.raises((DataError, EngineError), match="reads another file") as refused:
        hb.load(path, schema=stated, **given)
    assert "--allow-outside" in str(refused.value)
    with hb.load(path, schema=stated | {"others": {"use": False}}, **given) as without:
        assert without.frequent("pairs", 1, 1) == ("1", "2", "3")
    with hb.load(path, schema=stated, allow_outside=True, **given) as allowed:
        assert allowed.frequent("town", 1, 2) == TOWNS


@pytest.mark.parametrize("verb", [["inspect"], ["modes"], ["fit", "--target", "users.old", "--steps", "1"]])
def test_commands_refuse_and_allow_files_outside(data, verb, capsys):
    (data.parents[1] / "secret.csv").write_text(SECRET)
    write_tables(data, "../../secret.csv")
    name, *options = verb
    statuses = []
    for more in ([], ["--allow-outside"]):
        with pytest.raises(SystemExit) as ended:
            main([name, str(data), *options, *more])
        statuses.append(ended.value.code)
        if not more:
            assert REFUSED in capsys.readouterr().err
    assert statuses == [2, 0]
