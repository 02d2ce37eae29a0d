"""Connection strings: every way to write one is understood, and no error shows a password."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.cli import main
from hornbeam.loading.kind_of_source import connection_string, is_connection

FORMS = [
    "postgresql://ann:{}@127.0.0.1:1/shop",
    "postgresql+psycopg://ann:{}@127.0.0.1:1/shop",
    "PostgreSQL://ann:{}@127.0.0.1:1/shop",
    " postgres://ann:{}@127.0.0.1:1/shop",
    "postgresql://ann:{}@[::1:1/shop",
    "postgresql://ann:{}@127.0.0.1:one/shop",
    "postgresql:/ann:{}@127.0.0.1:1/shop",
    "postgresql:ann:{}@127.0.0.1:1/shop",
    "postgresql+psycopg//ann:{}@127.0.0.1:1/shop",
    "jdbc:postgresql://127.0.0.1:1/shop?user=ann&password={}",
    "postgresql://127.0.0.1:1/shop?user=ann&password={}",
    "mysql://ann:{}@127.0.0.1:1/shop",
    "host=127.0.0.1 port=1 password={}",
    "user=ann port=1 hostaddr=127.0.0.1 Password={}",
    "password={} port=1 hostaddr=127.0.0.1",
    "password='{} port=1 hostaddr=127.0.0.1",
]
passwords = st.text(alphabet="@/?#:[]%&= '\\xé\n", max_size=4)


@pytest.mark.parametrize("engine", [None, "postgres", "duckdb"])
@pytest.mark.parametrize("form", FORMS)
@given(start=passwords, end=passwords)
def test_no_error_shows_a_password(form, engine, start, end):
    with pytest.raises(hb.HornbeamError) as refused:
        hb.load(form.format(f"{start}s3cret{end}"), engine=engine)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("form", FORMS)
def test_the_command_line_shows_no_password(form, capsys):
    with pytest.raises(SystemExit) as left:
        main(["fit", form.format("s3cret"), "--target", "users.y"])
    shown = capsys.readouterr()
    assert left.value.code == 2 and "s3cret" not in shown.out + shown.err
    assert len(shown.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("postgresql://localhost/shop", "postgresql://localhost/shop"),
        (
            " Postgres://ann:a?b@h1:1,[::1]:2/shop?user=a@b\n",
            "postgresql://ann:a?b@h1:1,[::1]:2/shop?user=a@b",
        ),
        ("postgresql+psycopg2://ann:a%40b@localhost", "postgresql://ann:a%40b@localhost"),
        ("postgresql:///shop?host=/run/postgresql", "postgresql:///shop?host=/run/postgresql"),
        (" host=localhost dbname=shop", "host=localhost dbname=shop"),
    ],
)
def test_the_driver_gets_the_form_that_it_reads(written, read):
    assert is_connection(written) and connection_string(written) == read


@pytest.mark.parametrize(
    "path", ["data", "postgres/data", "postgresql", "year=2024", "C:\\data", "catalog:shop"]
)
def test_paths_are_no_connections(path):
    assert not is_connection(path)
