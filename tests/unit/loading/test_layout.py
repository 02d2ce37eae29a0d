"""Which files make up a data set, and where its background is looked for."""

from pathlib import Path

import pytest

from folders import boostsrl, examples_of, facts_of, flat, said, write
from hornbeam.errors import DataError, OptionError
from hornbeam.loading import load

MODES = "smokes(+person).\ncancer(+person).\n"


def modes(folder: Path, split: str | None = None) -> list[str]:
    return [str(mode) for mode in load(folder, split).modes]


def test_the_split_of_a_boostsrl_folder_is_train_unless_given(tmp_path):
    boostsrl(tmp_path, "train", "smokes(ann).")
    boostsrl(tmp_path, "test", "smokes(zed).", pos="cancer(zed).", neg="")
    boostsrl(tmp_path, "year2024", "smokes(cat).")
    assert {atom.args for atom in facts_of(load(tmp_path))} == {("ann",)}
    assert {atom.args for atom in facts_of(load(str(tmp_path), split="test"))} == {("zed",)}
    assert {atom.args for atom in facts_of(load(tmp_path, "year2024"))} == {("cat",)}


def test_a_split_that_is_not_there_is_an_error_that_names_those_that_are(tmp_path):
    boostsrl(boostsrl(tmp_path, "train"), "test")
    with pytest.raises(OptionError) as error:
        load(tmp_path, "../test")
    assert str(error.value) == f'"{tmp_path}" has no split "../test"; it has: test, train.'


def test_a_folder_without_train_needs_its_split_named(tmp_path):
    boostsrl(tmp_path, "test")
    with pytest.raises(OptionError, match='has no split "train"; it has: test'):
        load(tmp_path)


def test_a_flat_folder_has_no_splits(tmp_path):
    flat(tmp_path, "smokes(ann).")
    assert examples_of(load(tmp_path), "cancer") == [(("ann",), 1), (("bob",), 0)]
    with pytest.raises(OptionError) as error:
        load(tmp_path, "train")
    assert str(error.value) == (
        f'"{tmp_path}" is a flat folder with one set of examples, so there is no split "train"; '
        "leave the split out."
    )


def test_a_folder_with_both_layouts_needs_a_split(tmp_path):
    boostsrl(flat(tmp_path, "smokes(ann)."), "train", "smokes(zed).")
    with pytest.raises(DataError, match=r"holds facts\.txt and also splits.*name a split \(train\)"):
        load(tmp_path)
    assert {atom.args for atom in facts_of(load(tmp_path, "train"))} == {("zed",)}


def test_a_folder_of_neither_layout_says_what_was_looked_for(tmp_path):
    with pytest.raises(DataError) as error:
        load(tmp_path)
    assert str(error.value) == (
        f'no data in "{tmp_path}": looked for train/train_facts.txt, train/train_pos.txt, '
        "train/train_neg.txt (BoostSRL layout), facts.txt, pos.txt, neg.txt (flat folder) and tables "
        "(*.csv, *.parquet, schema.toml)."
    )


def test_the_folder_of_one_split_is_recognised(tmp_path):
    boostsrl(tmp_path, "test")
    with pytest.raises(DataError, match='looks like one split: name its parent folder, with split "test"'):
        load(tmp_path / "test")


def test_the_folder_above_the_folds_names_them(tmp_path):
    boostsrl(tmp_path / "fold1", "train")
    flat(tmp_path / "flat2")
    with pytest.raises(DataError, match="these sub-folders hold data: flat2, fold1"):
        load(tmp_path)


def test_a_missing_file_is_named(tmp_path):
    flat(tmp_path)
    (tmp_path / "neg.txt").unlink()
    with pytest.raises(DataError) as error:
        load(tmp_path)
    assert str(error.value) == (
        f'"{tmp_path}/neg.txt" is missing; facts, positive examples and negative examples each need a file, '
        "which may be empty."
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "absent",
            'cannot read "{}": it does not exist; name a folder of facts or of tables, or a database file.',
        ),
        (
            "facts.txt",
            '"{}" is neither a DuckDB nor a SQLite file, nor named .csv, .tsv or .parquet; '
            "name a folder of tables or of facts, or a database file.",
        ),
    ],
)
def test_something_that_is_no_folder(tmp_path, name, message):
    flat(tmp_path)
    with pytest.raises(DataError) as error:
        load(tmp_path / name)
    assert str(error.value) == message.format(tmp_path / name)


# --- background ------------------------------------------------------------------------------


def test_background_is_taken_from_the_nearest_place(tmp_path):
    """Each place in turn loses its file, and the next one is found."""
    data = boostsrl(tmp_path / "above" / "data", "train")
    places = [
        data / "train" / "train_bk.txt",
        data / "background.txt",
        data / "some_bk.txt",
        tmp_path / "above" / "background.txt",
        tmp_path / "above" / "other_bk.txt",
    ]
    for number, place in enumerate(places):
        place.write_text(f"smokes(+t{number}). cancer(+t{number}).")
    # Two folders up is too far.
    (tmp_path / "background.txt").write_text("smokes(+far). cancer(+far).")
    for number, place in enumerate(places):
        assert modes(data) == [f"smokes(+t{number}).", f"cancer(+t{number})."]
        place.unlink()
    assert modes(data) == ["cancer(+cancer_1).", "smokes(+cancer_1)."]


def test_the_background_of_a_flat_folder(tmp_path):
    data = flat(tmp_path / "data", "smokes(ann).")
    (tmp_path / "people_bk.txt").write_text(MODES)
    assert modes(data) == ["smokes(+person).", "cancer(+person)."]
    (data / "near_bk.txt").write_text(MODES.replace("person", "near"))
    assert modes(data) == ["smokes(+near).", "cancer(+near)."]


def test_two_possible_backgrounds_are_not_guessed_between(tmp_path):
    data = flat(tmp_path / "data", "smokes(ann).")
    write(data, {"a_bk.txt": MODES, "b_bk.txt": MODES})
    database = load(data)
    assert said(database, tmp_path)[0] == (
        "data: more than one file could be the background (a_bk.txt, b_bk.txt), so none of them is used; "
        "rename the right one to background.txt."
    )


def test_background_is_found_from_inside_the_folder(tmp_path, monkeypatch):
    flat(tmp_path / "data", "smokes(ann).")
    (tmp_path / "background.txt").write_text(MODES)
    monkeypatch.chdir(tmp_path / "data")
    assert modes(Path()) == ["smokes(+person).", "cancer(+person)."]
    assert modes(Path("../data")) == ["smokes(+person).", "cancer(+person)."]


# --- links and imports -----------------------------------------------------------------------


def test_links_are_followed(tmp_path):
    real = boostsrl(tmp_path / "real" / "fold1", "train")
    (tmp_path / "real" / "background.txt").write_text(MODES)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "data").symlink_to(real)
    assert modes(tmp_path / "links" / "data") == ["smokes(+person).", "cancer(+person)."]
    flat_links = tmp_path / "flat"
    flat_links.mkdir()
    for kind in ("facts", "pos", "neg"):
        (flat_links / f"{kind}.txt").symlink_to(real / "train" / f"train_{kind}.txt")
    assert facts_of(load(flat_links)) == facts_of(load(real))


def test_the_folder_above_a_link_comes_before_the_one_above_its_goal(tmp_path):
    real = flat(tmp_path / "real" / "data", "smokes(ann).")
    (tmp_path / "real" / "background.txt").write_text(MODES)
    write(tmp_path / "links", {"background.txt": MODES.replace("person", "near")})
    (tmp_path / "links" / "data").symlink_to(real)
    assert modes(tmp_path / "links" / "data") == ["smokes(+near).", "cancer(+near)."]


def test_a_circle_of_links_is_one_sentence(tmp_path):
    (tmp_path / "here").symlink_to(tmp_path / "there")
    (tmp_path / "there").symlink_to(tmp_path / "here")
    with pytest.raises(DataError) as error:
        load(tmp_path / "here")
    assert str(error.value) == (
        f'cannot read "{tmp_path}/here": its links lead in a circle; name a folder of facts or of tables, or '
        f"a database file."
    )
    flat(tmp_path / "data")
    (tmp_path / "data" / "facts.txt").unlink()
    (tmp_path / "data" / "facts.txt").symlink_to(tmp_path / "here")
    with pytest.raises(DataError, match=r"facts\.txt\": its links lead in a circle; name a text file"):
        load(tmp_path / "data")


def test_a_link_that_leads_nowhere_is_named(tmp_path):
    flat(tmp_path)
    (tmp_path / "neg.txt").unlink()
    (tmp_path / "neg.txt").symlink_to(tmp_path / "absent.txt")
    with pytest.raises(DataError, match=r"neg\.txt\": it does not exist"):
        load(tmp_path)


def test_imports_are_relative_to_their_file_and_work_everywhere(tmp_path):
    boostsrl(
        tmp_path,
        "train",
        'import: "../more/facts.txt".\nsmokes(ann).',
        pos="import: '../more/pos.txt'\ncancer(ann).",
        bk='import: "../base_bk.txt"',
    )
    write(
        tmp_path,
        {
            "base_bk.txt": MODES,
            "more/facts.txt": 'smokes(cat). import: "deep/facts.txt".',
            "more/deep/facts.txt": "smokes(dan).",
            "more/pos.txt": "cancer(cat).",
        },
    )
    database = load(tmp_path)
    assert {atom.args for atom in facts_of(database)} == {("ann",), ("cat",), ("dan",)}
    assert sorted(examples_of(database, "cancer")) == [(("ann",), 1), (("bob",), 0), (("cat",), 1)]
    assert said(database, tmp_path) == []


def test_background_imported_from_example_files_gives_no_examples(tmp_path):
    """People import the background from every file; it is read once."""
    line = 'import: "../base_bk.txt".\n'
    boostsrl(tmp_path, "train", line + "smokes(ann).", pos=line + "cancer(ann).", bk=line)
    write(tmp_path, {"base_bk.txt": MODES + "smokes(cat).\nsetParam: treeDepth=3."})
    database = load(tmp_path)
    assert list(database.example_sets) == ["cancer"]
    assert {atom.args for atom in facts_of(database)} == {("ann",), ("cat",)}
    assert len(said(database, tmp_path)) == 1


def test_an_import_of_a_link_may_stand_beside_its_goal(tmp_path):
    write(tmp_path, {"shared/facts.txt": 'import: "rest.txt".', "shared/rest.txt": "smokes(zed)."})
    data = flat(tmp_path / "data")
    (data / "facts.txt").unlink()
    (data / "facts.txt").symlink_to(tmp_path / "shared" / "facts.txt")
    assert {atom.args for atom in facts_of(load(data))} == {("zed",)}
    (data / "rest.txt").write_text("smokes(near).")
    assert {atom.args for atom in facts_of(load(data))} == {("near",)}


def test_imports_in_a_circle_are_one_sentence(tmp_path):
    flat(tmp_path, 'smokes(ann).\n  import: "a.txt".')
    write(tmp_path, {"a.txt": 'import: "sub/b.txt".', "sub/b.txt": 'smokes(bob). import: "../a.txt".'})
    with pytest.raises(DataError) as error:
        load(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}/sub/b.txt:1:14: these imports lead in a circle: a.txt -> b.txt -> a.txt; "
        "remove one of them."
    )


def test_an_import_that_cannot_be_read_has_its_place(tmp_path):
    flat(tmp_path, 'smokes(ann).\n  import: "absent.txt".')
    with pytest.raises(DataError) as error:
        load(tmp_path)
    assert str(error.value) == (
        f'{tmp_path}/facts.txt:2:3: cannot read "{tmp_path}/absent.txt": it does not exist; '
        "name a text file that can be read."
    )


def test_a_folder_in_place_of_a_file(tmp_path):
    flat(tmp_path)
    (tmp_path / "neg.txt").unlink()
    (tmp_path / "neg.txt").mkdir()
    with pytest.raises(DataError) as error:
        load(tmp_path)
    assert str(error.value) == (
        f'cannot read "{tmp_path}/neg.txt": it is a folder; name a text file that can be read.'
    )
