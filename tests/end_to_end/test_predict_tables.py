"""``predict`` on tables: rows in the order that the user gave, under the user's own names and words."""

import csv
import itertools

import pytest

from folders import write
from table_worlds import as_csv, shop


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return as_csv(shop(), tmp_path_factory.mktemp("predict_tables") / "shop")


@pytest.fixture
def learned(folder, tmp_path, run):
    def fit(target, *words):
        model = tmp_path / "m.json"
        ran = run("fit", folder, "--target", target, "--bags", 2, "--steps", 20, "--model", model, *words)
        assert ran.status == 0, ran.err
        return model

    return fit


def column(path, name):
    with path.open(newline="", encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


def test_rows_are_in_the_order_of_the_table_with_its_key_and_its_values(folder, learned, run):
    rows = run("predict", folder, "--model", learned("users.gender=F")).rows()
    assert list(rows[0]) == ["user_id", "label", "predicted", "probability"]
    users = folder / "users.csv"
    assert [row["user_id"] for row in rows] == column(users, "user_id")
    assert [row["label"] for row in rows] == column(users, "gender")
    assert all((float(row["probability"]) > 0.5) == (row["predicted"] == "F") for row in rows)
    assert {row["predicted"] for row in rows} == {"F", "M"}


def test_rows_are_in_the_order_of_the_examples(folder, learned, tmp_path, run):
    model = learned("users.premium")
    write(tmp_path, {"e.csv": "user_id,label\n501,0\n11,true\n201,not premium\n31,premium\n"})
    ran = run(
        "predict", folder, "--model", model, "--examples", tmp_path / "e.csv", "--out", tmp_path / "p.csv"
    )
    assert ran.err == f"wrote 4 predictions to {tmp_path / 'p.csv'}\n"
    assert column(tmp_path / "p.csv", "user_id") == ["501", "11", "201", "31"]
    assert column(tmp_path / "p.csv", "label") == ["false", "true", "false", "true"]
    scores = [
        run("evaluate", folder, "--model", model, "--examples", tmp_path / f"{name}.csv") for name in "ep"
    ]
    assert scores[0] == scores[1]
    assert scores[0].status == 0


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize(
    ("target", "texts"),
    [
        ("users.gender=F", {"F", "M"}),
        ("users.job=nurse", {"nurse", "not nurse"}),
        ("users.premium", {"true", "false"}),
        ("ratings", {"0", "1"}),
    ],
)
def test_labels_are_the_values_of_the_table_and_read_back(
    engine, target, texts, folder, learned, tmp_path, run
):
    model = learned(target, *(["--negatives", 1] if target == "ratings" else []))
    file = tmp_path / "p.csv"
    assert run("predict", folder, "--model", model, "--engine", engine, "--out", file).status == 0
    assert {*column(file, "label")} - {""} == texts
    assert {*column(file, "predicted")} <= texts
    of_file = run("evaluate", folder, "--model", model, "--examples", file, "--engine", engine)
    assert of_file.status == 0, of_file.err
    assert of_file.out == run("evaluate", folder, "--model", model, "--engine", engine).out


def test_a_column_of_zeros_and_ones_keeps_them(tmp_path, run):
    people = "".join(f"p{n},{n % 50},{int(n % 50 > 30)}\n" for n in range(60))
    write(tmp_path, {"town/people.csv": f"id,age,sick\n{people}", "new.csv": "id\np3\np45\n"})
    fitted = run("fit", tmp_path / "town", "--target", "people.sick", "--model", tmp_path / "m.json")
    assert fitted.status == 0, fitted.err
    rows = run(
        "predict", tmp_path / "town", "--model", tmp_path / "m.json", "--examples", tmp_path / "new.csv"
    )
    assert [(row["label"], row["predicted"]) for row in rows.rows()] == [("0", "0"), ("1", "1")]


def test_labels_that_differ_in_capitals_alone_read_back(tmp_path, run):
    people = "".join(f"p{n},{n % 50},{'x' if n % 50 > 30 else 'X'}\n" for n in range(60))
    write(tmp_path, {"town/people.csv": f"id,age,kind\n{people}"})
    town, model, file = tmp_path / "town", tmp_path / "m.json", tmp_path / "p.csv"
    assert run("fit", town, "--target", "people.kind=x", "--model", model).status == 0
    assert run("predict", town, "--model", model, "--out", file).status == 0
    assert {*column(file, "label")} == {"x", "X"}
    of_file = run("evaluate", town, "--model", model, "--examples", file)
    assert of_file.status == 0, of_file.err
    assert of_file.out == run("evaluate", town, "--model", model).out


def test_classes_and_pairs_have_their_own_names(folder, learned, tmp_path, run):
    rows = run("predict", folder, "--model", learned("users.job")).rows()
    assert list(rows[0])[:3] == ["user_id", "label", "predicted"]
    for row in rows:
        best = max(("it's", "nurse", "Élève"), key=lambda name: float(row[f"probability_{name}"]))
        assert row["predicted"] == best
    assert [row["label"] for row in rows] == column(folder / "users.csv", "job")
    pairs = run("predict", folder, "--model", learned("ratings", "--negatives", 1)).rows()
    assert list(pairs[0]) == ["user_id", "movie_id", "label", "predicted", "probability"]
    counts = run("count", folder, "users(A) :- ratings(A,B).").rows()
    assert list(counts[0]) == ["user_id", "true", "false"]
    assert [row["user_id"] for row in counts] == column(folder / "users.csv", "user_id")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_the_order_is_that_of_the_examples_in_place_too(engine, folder, learned, tmp_path, run):
    model = learned("users.gender=F")
    write(tmp_path, {"e.csv": "user_id\n501\n11\n201\n"})
    rows = run(
        "predict", folder, "--model", model, "--examples", tmp_path / "e.csv", "--engine", engine
    ).rows()
    assert [row["user_id"] for row in rows] == ["501", "11", "201"]


def test_an_example_is_named_by_its_key_alone(folder, learned, run):
    model = learned("users.gender=F")
    by_key = run("explain", folder, "--model", model, "--example", "11")
    assert by_key == run("explain", folder, "--model", model, "--example", "gender_f(11)")
    assert by_key.status == 0
    pair = learned("ratings", "--negatives", 1)
    by_keys = run("explain", folder, "--model", pair, "--example", "11, m3")
    assert by_keys == run("explain", folder, "--model", pair, "--example", "ratings(11,m3)")
    refused = run("explain", folder, "--model", pair, "--example", "11")
    assert refused.status == 2
    assert (
        "--example 11 is refused: it must be 2 keys separated by commas, or an atom of the form"
        in refused.err
    )


def test_every_file_that_is_written_is_named(folder, learned, tmp_path, run):
    model = learned("users.gender=F", "--history", tmp_path / "h.json", "--report", tmp_path / "r.html")
    for verb, out, what in [
        (("show", model), "m.txt", "effect"),
        (("sql", "--model", model), "m.sql", "the query"),
        (("report", folder, "--model", model), "r.html", "the report of 60 examples"),
        (("count", folder, "users(A) :- ratings(A,B)."), "c.csv", "the counts of 60 examples"),
    ]:
        ran = run(*verb, "--out", tmp_path / out)
        assert ran.status == 0, ran.err
        last = ran.err.splitlines()[-1]
        assert last.startswith("wrote ") and last.endswith(f" to {tmp_path / out}") and what in last


def test_a_file_that_is_read_is_never_the_result(folder, learned, tmp_path, run):
    model = learned("users.premium")
    write(tmp_path, {"e.csv": "user_id\n501\n11\n"})
    examples = ("--examples", tmp_path / "e.csv")
    commands = (
        ("predict", folder, "--model", model, *examples, "--out"),
        ("report", folder, "--model", model, *examples, "--out"),
        ("fit", folder, "--target", "users.premium", *examples, "--model"),
        ("show", model, "--out"),
    )
    before = {path: path.read_bytes() for path in (model, tmp_path / "e.csv")}
    for words in commands:
        for path in before:
            if path in words:
                ran = run(*words, path)
                assert ran.status == 2
                assert f"{path}: this command reads the file, and the result would replace it" in ran.err
    assert {path: path.read_bytes() for path in before} == before


def test_data_without_the_column_of_the_label_are_predicted_with_a_note(folder, learned, tmp_path, run):
    model = learned("users.premium")
    data = tmp_path / "unlabelled"
    data.mkdir()
    for path in folder.iterdir():
        (data / path.name).write_bytes(path.read_bytes())
    with (folder / "users.csv").open(newline="", encoding="utf-8") as file:
        rows = [{name: row[name] for name in row if name != "premium"} for row in csv.DictReader(file)]
    with (data / "users.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    labelled, unlabelled = (run("predict", each, "--model", model) for each in (folder, data))
    assert 'table "users" lacks columns of the training data (premium)' in unlabelled.err
    assert [row["probability"] for row in unlabelled.rows()] == [
        row["probability"] for row in labelled.rows()
    ]


def test_pairs_of_one_table_have_its_key_twice_with_numbers(folder, tmp_path, run):
    ids = column(folder / "users.csv", "user_id")
    pairs = [(one, two, int(place % 3 == 0)) for place, (one, two) in enumerate(itertools.pairwise(ids))]
    lines = "".join(f"{one},{two},{label}\n" for one, two, label in pairs)
    write(tmp_path, {"e.csv": f"user_id_1,user_id_2,label\n{lines}"})
    model, out = tmp_path / "same.json", tmp_path / "p.csv"
    examples = ("--examples", tmp_path / "e.csv")
    fitted = run("fit", folder, "--target", "same(users,users)", *examples, "--steps", 5, "--model", model)
    assert fitted.status == 0, fitted.err
    assert run("predict", folder, "--model", model, *examples, "--out", out).status == 0
    assert out.read_text().splitlines()[0] == "user_id_1,user_id_2,label,predicted,probability"
    assert column(out, "user_id_2") == [two for _, two, _ in pairs]
    scores = run("evaluate", folder, "--model", model, "--examples", out)
    assert scores == run("evaluate", folder, "--model", model, *examples)
    assert scores.status == 0
