"""The public face: exactly these names, imported late, and nothing heavy before it is needed."""

import json
import subprocess
import sys

import pytest

import hornbeam


def modules_after(code: str) -> set[str]:
    """The top-level modules that a fresh Python has imported after running some code."""
    script = (
        f"import sys, json\n{code}\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


HEAVY = {"sklearn", "duckdb", "sqlglot", "narwhals", "pandas", "polars", "pyarrow", "scipy", "rich"}


def test_all_names_what_is_visible_and_nothing_else():
    assert hornbeam.__all__ == sorted(hornbeam.__all__)
    assert dir(hornbeam) == hornbeam.__all__


@pytest.mark.parametrize("name", hornbeam.__all__)
def test_every_public_name_is_there(name):
    assert getattr(hornbeam, name) is not None


def test_other_names_are_an_error_like_any_other():
    with pytest.raises(AttributeError, match="module 'hornbeam' has no attribute 'fly'"):
        hornbeam.fly  # noqa: B018


def test_load_stays_a_function_when_its_package_is_imported():
    import hornbeam.loading.facts.folder

    assert callable(hornbeam.load)


def test_importing_hornbeam_imports_nothing_heavy():
    assert not modules_after("import hornbeam") & HEAVY


def test_asking_for_help_imports_nothing_heavy():
    code = "from hornbeam.cli import main\ntry: main(['fit', '--help'])\nexcept SystemExit: pass"
    assert not modules_after(code) & HEAVY


def test_fitting_imports_nothing_heavy(tmp_path):
    (tmp_path / "facts.txt").write_text("smokes(ann). friends(ann,bob).")
    (tmp_path / "pos.txt").write_text("cancer(ann).")
    (tmp_path / "neg.txt").write_text("cancer(bob).")
    code = f"from hornbeam.cli import main\ntry: main(['fit', {str(tmp_path)!r}])\nexcept SystemExit: pass"
    assert not modules_after(code) & HEAVY
