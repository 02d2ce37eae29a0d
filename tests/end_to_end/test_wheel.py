"""The wheel that users install: all files of the package are in it, and it runs where no source is."""

import os
import site
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "hornbeam"


def run(*command: object, cwd: Path) -> str:
    # Without PYTHONPATH: the source must not be found.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """A new environment with the wheel; the dependencies are those of the environment of the tests."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    run(*pip, "install", "--no-index", "--no-deps", "--quiet", wheel, cwd=folder)
    # A folder named in a .pth file is searched, but its own .pth files, such as that of a package installed
    # in place, are not read: hornbeam itself comes from the wheel alone.
    (own,) = folder.glob("lib/python*/site-packages")
    others = dict.fromkeys(
        [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    )
    (own / "dependencies.pth").write_text("\n".join(others) + "\n")
    return folder


def test_every_file_of_the_package_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {
            name: archive.read(name) for name in archive.namelist() if name.partition("/")[0] == "hornbeam"
        }
    files = {
        path.relative_to(PACKAGE.parent).as_posix(): path.read_bytes()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert packed == files
    endings = {Path(name).suffix for name in packed}
    assert {".py", ".css", ".js", ".html", ".json", ".typed"} <= endings


def test_the_demonstration_runs_from_the_wheel(environment, tmp_path):
    python = environment / "bin" / "python"
    imported = run(python, "-c", "import hornbeam; print(hornbeam.__file__)", cwd=tmp_path)
    assert Path(imported).is_relative_to(environment)
    shown = run(environment / "bin" / "hornbeam", "demo", cwd=tmp_path)
    assert "churned(A) :- orders(A,B), kind(B,C), C = shoes." in shown
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for name in ("drawing/figure.css", "report/html/style.css", "report/html/script.js"):
        assert (PACKAGE / name).read_text(encoding="utf-8").strip() in page, name


def test_the_data_sets_are_listed_from_the_wheel(environment, tmp_path):
    shown = run(environment / "bin" / "hornbeam", "datasets", "list", cwd=tmp_path)
    assert "uwcse" in shown
