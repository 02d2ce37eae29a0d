"""Tables that are wrong, seen from the command line: one clear sentence each, and nothing lost."""

import sqlite3
import subprocess
import sys

import duckdb
import pytest

from folders import write

USERS = "user_id,age,vip\n1,20,true\n2,30,false\n3,40,true\n4,50,false\n"
MOVIES = "movie_id,genre\na,drama\nb,comedy\n"
RATINGS = "user_id,movie_id,stars\n1,a,3\n1,b,2\n2,a,4\n3,b,5\n"
SHOP = {"users.csv": USERS, "movies.csv": MOVIES, "ratings.csv": RATINGS}
QUICK = ("--steps", "1", "--max-literals", "1")


@pytest.fixture
def hornbeam(run, monkeypatch, tmp_path):
    """Run a command in an empty folder: exit status, stdout, and the lines of stderr."""
    monkeypatch.chdir(tmp_path)

    def in_lines(*words):
        status, out, said = run(*words)
        return status, out, said.splitlines()

    return in_lines


def refused(run, *words):
    """The one sentence with which a command is refused, without the program's name."""
    status, out, said = run(*words)
    assert (status, out) == (2, "")
    message = said[-1]
    assert message.startswith("hornbeam: ")
    assert all(line.startswith("note: ") for line in said[:-1])
    return message.removeprefix("hornbeam: ")


DANGLING = {
    "ratings.csv": RATINGS + "9,a,1\n9,b,2\n8,a,1\n3,zz,1\n",
    "schema.toml": '[ratings]\nlinks = { user_id = "users", movie_id = "movies" }\n',
}


def test_links_to_keys_that_are_not_there(hornbeam, tmp_path):
    write(tmp_path / "shop", SHOP | DANGLING)
    assert refused(hornbeam, "fit", "shop", "--target", "users.vip", "--dangling", "error") == (
        'table "ratings", column "user_id": 2 keys in 3 rows are not in "users" (first: 8, 9); correct them, '
        'state other links in schema.toml, or set dangling (--dangling) to "drop" to leave these links out, '
        'or to "keep" to add the keys.'
    )
    assert refused(hornbeam, "fit", "shop", "--target", "users.vip", "--dangling", "no") == (
        "dangling='no' is refused: it must be 'drop' or 'error' or 'keep'."
    )


@pytest.mark.parametrize(
    ("dangling", "done", "ratings"),
    [
        ("drop", "these links are left out; --dangling error refuses them", 4),
        ("keep", "the keys are added", 8),
    ],
)
def test_such_links_are_dropped_or_kept_as_asked(hornbeam, tmp_path, dangling, done, ratings):
    write(tmp_path / "shop", SHOP | DANGLING)
    clause = "users(A) :- ratings(A,B)."
    status, out, said = hornbeam("count", "shop", clause, "--dangling", dangling)
    assert status == 0
    where = "ratings.user_id (3), ratings.movie_id (1)"
    assert f"note: keys in 4 rows of 2 columns are not in the linked tables: {where}; {done}." in said
    rows = [line.split(",") for line in out.splitlines()[1:]]
    assert [key for key, *_ in rows] == ["1", "2", "3", "4"]
    kept = {"1": 2, "2": 1, "3": 1 if dangling == "drop" else 2, "4": 0}
    assert {key: int(true) for key, true, _ in rows} == kept


def test_inspection_shows_such_links_and_goes_on(hornbeam, tmp_path):
    write(tmp_path / "shop", SHOP | {"ratings.csv": RATINGS + "9,a,1\n"})
    status, out, _ = hornbeam("inspect", "shop")
    assert status == 0
    line = '  ratings.user_id: 1 key in 1 row is not in "users" (first: 9); not used'
    assert line in out.splitlines()


def test_a_stated_key_with_copies(hornbeam, tmp_path):
    more = "2,99,false\n3,1,true\n"
    write(tmp_path / "shop", SHOP | {"users.csv": USERS + more, "schema.toml": '[users]\nkey = "user_id"\n'})
    assert refused(hornbeam, "inspect", "shop") == (
        'table "users", key "user_id": 2 values occur in more than one row (first: 2, 3); remove the copies, '
        "or "
        "state another key in schema.toml (key = false for none)."
    )


def test_a_column_that_was_meant_as_a_key_and_has_copies(hornbeam, tmp_path):
    write(tmp_path / "shop", SHOP | {"users.csv": USERS + "2,99,false\n"})
    assert refused(hornbeam, "fit", "shop", "--target", "users.vip") == (
        'table "users", column "user_id" is named like the key, but 1 value occurs in more than one row '
        "(first: 2); remove the copies, or state another key in schema.toml (key = false for none)."
    )


def test_a_key_that_some_rows_lack(hornbeam, tmp_path):
    write(
        tmp_path / "shop",
        SHOP | {"users.csv": USERS + ",9,true\n", "schema.toml": '[users]\nkey = "user_id"\n'},
    )
    assert refused(hornbeam, "inspect", "shop") == (
        'table "users", key "user_id": 1 row of 5 has no value; every row needs a key: fill it in, or '
        "state another key in schema.toml."
    )


def test_a_column_of_mixed_types(hornbeam, tmp_path):
    rows = "".join(f"{n},{n},{'true' if n % 2 else 'false'}\n" for n in range(5, 30))
    write(tmp_path / "shop", SHOP | {"users.csv": USERS + rows + "30,old,true\n"})
    status, out, said = hornbeam("inspect", "shop")
    assert status == 0
    assert "age      category  text" in out
    assert (
        'note: table "users": column "age" is read as text, because 1 value of 30 is not a number ("old"); '
        'if it stands for a missing value, state missing = ["old"] in schema.toml.' in said
    )
    (tmp_path / "shop" / "schema.toml").write_text('[users]\nmissing = ["old"]\n')
    status, out, said = hornbeam("inspect", "shop")
    assert "age      number  number" in out
    (tmp_path / "shop" / "schema.toml").write_text('[users]\nroles = { age = "number" }\n')
    assert refused(hornbeam, "inspect", "shop") == (
        'table "users": column "age" is stated to hold numbers, but "old" is not a number; correct the value '
        "or "
        "the schema."
    )


def test_a_column_of_mixed_types_in_a_frame():
    import pandas as pd

    import hornbeam as hb

    users = pd.DataFrame({"user_id": [1, 2, 3], "code": [1, "x", 2.5]}, dtype=object)
    database = hb.load({"users": users})
    assert str(database.notices[0]) == (
        'table "users": column "code" mixes float (first: 2.5) and int (first: 1) and str (first: \'x\'), so '
        "all "
        "of its values are read as text."
    )
    assert sorted(database.population("code_value").names) == ["1", "2.5", "x"]


def test_empty_tables(hornbeam, tmp_path):
    empty = {"movies.csv": "movie_id,genre\n", "ratings.csv": "user_id,movie_id,stars\n"}
    write(tmp_path / "shop", SHOP | empty)
    status, out, said = hornbeam("fit", "shop", "--target", "users.vip", *QUICK)
    assert status == 0
    assert out.startswith("prior")
    assert 'note: not used: 2 empty tables ("movies", "ratings").' in said
    write(tmp_path / "shop", {"users.csv": "user_id,age,vip\n"})
    assert refused(hornbeam, "fit", "shop", "--target", "users.vip") == (
        'table "users" is empty, so there are no examples of "users.vip".'
    )
    write(tmp_path / "shop", {"users.csv": ""})
    assert refused(hornbeam, "fit", "shop", "--target", "users.vip") == (
        "shop/users.csv: the file is empty; a table needs at least a row of column names."
    )


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_tables_that_say_nothing_of_the_target(hornbeam, tmp_path, engine):
    write(tmp_path / "shop", {"users.csv": "user_id,vip\n1,true\n2,false\n", "movies.csv": MOVIES})
    assert refused(hornbeam, "fit", "shop", "--target", "users.vip", "--engine", engine) == (
        'nothing to learn from: "users" has no other usable column, and no table links to it; '
        "run hornbeam inspect to check how the tables are read."
    )


def test_a_model_of_tables_asked_about_facts(hornbeam, tmp_path):
    write(tmp_path / "shop", SHOP)
    words = ("--target", "users.vip", "--model", "m.json", "--preset", "paper")
    assert hornbeam("fit", "shop", *words, *QUICK)[0] == 0
    write(
        tmp_path / "town", {"facts.txt": "smokes(ann).", "pos.txt": "cancer(ann).", "neg.txt": "cancer(bob)."}
    )
    for verb, *more in (["predict"], ["explain", "--example", "vip(1)"]):
        message = refused(hornbeam, verb, "town", "--model", "m.json", *more)
        assert message.startswith("the model does not fit these data: they have none of its predicates")


def test_a_folder_without_anything(hornbeam, tmp_path):
    (tmp_path / "shop").mkdir()
    for more in ([], ["--target", "users.vip"]):
        assert refused(hornbeam, "inspect", "shop", *more) == (
            'no data in "shop": looked for train/train_facts.txt, train/train_pos.txt, train/train_neg.txt '
            "(BoostSRL layout), facts.txt, pos.txt, neg.txt (flat folder) and tables (*.csv, *.parquet, "
            "schema.toml)."
        )


def test_a_refused_connection_is_told_without_the_password(hornbeam):
    message = refused(hornbeam, "inspect", "postgresql://ann:secret@127.0.0.1:1/shop")
    assert message.startswith("cannot read from PostgreSQL (host=127.0.0.1 port=1 dbname=shop user=ann): ")
    assert message.endswith("Connection refused; is the server running, and are host and port right?")
    assert "secret" not in message


def test_a_missing_driver_names_what_to_install():
    hidden = "import sys; sys.modules['psycopg'] = None; from hornbeam.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", hidden, "inspect", "postgresql://localhost/shop"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "hornbeam: reading from PostgreSQL needs the package psycopg, which is not installed: "
        'pip install "hornbeam[postgres]".\n'
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"users.parquet": b"no"}, 'cannot read "shop/users.parquet" as Parquet: '),
        (
            {"users.csv": USERS, "users.parquet": b"no"},
            '"users.csv" and "users.parquet" are both the table "users"; keep one of them, or name the right '
            "one by "
            "file = ... in schema.toml.",
        ),
        (
            {"users.csv": USERS, "schema.toml": '[users]\nfile = "u.csv"\n'},
            'table "users": there is no file "shop/u.csv"; correct file = ... in schema.toml.',
        ),
        ({"users.csv": USERS, "schema.toml": "[users\n"}, "shop/schema.toml: this is not TOML: "),
        (
            {"users.csv": USERS, "schema.toml": "[user]\n"},
            'shop/schema.toml: no table "user". Tables are: users. Did you mean "users"?',
        ),
        (
            {"users.csv": USERS, "schema.toml": '[users]\nkey = "id"\n'},
            'shop/schema.toml: [users] has no column "id". Columns are: age, user_id, vip.',
        ),
        (
            {"users.csv": USERS, "schema.toml": '[users]\ncolumns = ["a"]\n'},
            "shop/users.csv:1: the file has 3 columns, but the schema names 1 (a); make them agree.",
        ),
        (
            {"users.csv": USERS, "schema.toml": '[users]\nencoding = "klingon"\n'},
            'no encoding "klingon"; use a name such as utf-8, latin-1 or utf-16.',
        ),
    ],
)
def test_files_and_schemas_that_do_not_fit(hornbeam, tmp_path, files, message):
    write(tmp_path / "shop", files)
    assert refused(hornbeam, "inspect", "shop").startswith(message)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"SQLite format 3\0" + b"x" * 200, 'cannot read the SQLite file "data.db": '),
        (b"12345678DUCK" + b"x" * 200, 'cannot read the DuckDB file "data.db": '),
        (
            b"hello",
            '"data.db" is neither a DuckDB nor a SQLite file, nor named .csv, .tsv or .parquet; name a '
            "folder of "
            "tables or of facts, or a database file.",
        ),
    ],
)
def test_database_files_that_are_none(hornbeam, tmp_path, start, message):
    (tmp_path / "data.db").write_bytes(start)
    assert refused(hornbeam, "inspect", "data.db").startswith(message)


def test_a_database_without_a_table(hornbeam, tmp_path):
    duckdb.connect(str(tmp_path / "a.duckdb")).close()
    sqlite3.connect(tmp_path / "a.sqlite").executescript(
        "CREATE TABLE t (a); DROP TABLE t;"
    ).connection.close()
    for name in ("a.duckdb", "a.sqlite"):
        assert (
            refused(hornbeam, "inspect", name)
            == f"there is no table in {name}; name a source with at least one table to use."
        )


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "users.vipp",
            'table "users" has no column "vipp". Columns are: age, user_id, vip. Did you mean "vip"?',
        ),
        (
            "user.vip",
            'no target "user.vip": give a column (table.column or table.column=value), a link table, or a '
            "new name "
            "with its arguments such as churned(movies). Tables are: movies, ratings, users. Did you mean "
            '"users"?',
        ),
        ("VIP", 'no target "VIP": a column needs its table, as in users.vip (--target).'),
        ("genre=drama", 'no target "genre=drama": a column needs its table, as in movies.genre (--target).'),
        (
            "user_id",
            'no target "user_id": a column needs its table, as in ratings.user_id or users.user_id '
            "(--target).",
        ),
        ("users.age=21", 'no row of "users" has age = "21". Values are: 20, 30, 40, 50.'),
        (
            "users.user_id",
            '"users.user_id" is the key of its table, which cannot be learned; name another column.',
        ),
        (
            "ratings.stars",
            '"ratings.stars" is a column of a link table, whose rows have no key; give the table a key, '
            "state rows "
            '= true for it, or make the table itself the target: "ratings".',
        ),
        (
            "movies",
            'no example of "movies" has a label; name a column that has labels, or give them in a column '
            '"label" of --examples FILE.',
        ),
        ("churned(user)", 'no table "user". Tables are: movies, ratings, users. Did you mean "users"?'),
        (
            "churned(users)",
            'the target "churned(users)" is new, so the tables have no examples of it; pass examples '
            "(--examples FILE) with keys and a label.",
        ),
        (
            None,
            "name what to learn by --target; the tables have labels: users.vip (yes or no), "
            "movies.genre (2 values); numbers: users.age; links between things: ratings.",
        ),
    ],
)
def test_targets_that_cannot_be_learned(hornbeam, tmp_path, target, message):
    write(tmp_path / "shop", SHOP)
    words = ["--target", target] if target else []
    assert refused(hornbeam, "fit", "shop", *words, *QUICK) == message


@pytest.mark.parametrize(
    ("negatives", "target", "message"),
    [
        (
            "few",
            "ratings",
            'negatives "few" is refused: it must be "all", or the number of negatives per link, above 0.',
        ),
        (
            "all",
            "users.vip",
            'negatives are for a target that is a link; here every row of "users" is an example.',
        ),
        (
            "2",
            "movies",
            'negatives are for a target that is a link, but table "movies" is none, because its rows have '
            'the key "movie_id"; name a column (movies.genre), or state key = false and links = { ... } in '
            "schema.toml.",
        ),
    ],
)
def test_negatives_that_make_no_sense(hornbeam, tmp_path, negatives, target, message):
    write(tmp_path / "shop", SHOP)
    assert refused(hornbeam, "fit", "shop", "--target", target, "--negatives", negatives) == message


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        (
            "user_id,cutoff\n1,2024-01-01\n",
            "the examples have cut-offs, but no table has a time column; state one, such as [visits] time = "
            '"date", in schema.toml.',
        ),
        (
            "u,v,w\n1,2,3\n",
            "the examples have the columns u, v, w, but need user_id (or arg1, arg2, ...), and may have "
            '"label", "cutoff" and "choice".',
        ),
        ("user_id,label\n1,1\n,0\n", 'examples, column "user_id": 1 of 2 rows have no key; fill it in.'),
    ],
)
def test_examples_that_do_not_fit(hornbeam, tmp_path, examples, message):
    write(tmp_path / "shop", SHOP)
    (tmp_path / "e.csv").write_text(examples)
    assert refused(hornbeam, "fit", "shop", "--target", "users.vip", "--examples", "e.csv") == message


@pytest.mark.parametrize(
    ("cutoff", "message"),
    [
        ("soon", 'examples: the cut-off "soon" is neither a number nor a date such as 2024-12-31.'),
        (
            "2008-01-01\n2,2008-13-45",
            'examples: the cut-off "2008-13-45" is neither a number nor a date such as 2024-12-31.',
        ),
        (
            "7",
            "the examples' cut-offs are numbers, but the times of the tables are dates; write the "
            "cut-offs as dates.",
        ),
    ],
)
def test_cut_offs_that_are_no_times(hornbeam, tmp_path, cutoff, message):
    visits = "user_id,day\n1,2024-01-01\n1,2024-01-02\n2,2024-01-03\n"
    write(tmp_path / "shop", SHOP | {"visits.csv": visits})
    (tmp_path / "e.csv").write_text(f"user_id,cutoff\n1,{cutoff}\n")
    assert refused(hornbeam, "fit", "shop", "--target", "users.vip", "--examples", "e.csv") == message
