"""Models in a real store of MLflow on disk: the page is run as it stands, and predictions stay the same.

MLflow has an environment of its own, which `make mlflow` installs.
"""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import hornbeam.mlflow
from hornbeam.errors import OptionError

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("HORNBEAM_MLFLOW", Path(sys.prefix) / "mlflow" / "bin" / "python"))
PAGE = ROOT / "docs" / "howto" / "mlflow.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
HEAD = """
import json, os, warnings
import mlflow
warnings.simplefilter("ignore")
mlflow.set_tracking_uri("sqlite:///store.db")
"""

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="MLflow is not installed: run make mlflow")


def run(folder: Path, code: str) -> str:
    done = subprocess.run(
        [PYTHON, "-c", HEAD + code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "MLFLOW_DISABLE_TELEMETRY": "true"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Path:
    """The shop of the tutorial, and a store with the model of the page."""
    folder = tmp_path_factory.mktemp("mlflow")
    program = re.search(r'title="make_shop.py"\n(.*?)```', TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert program is not None
    (folder / "make_shop.py").write_text(program[1])
    subprocess.run([sys.executable, "make_shop.py"], cwd=folder, check=True)
    return folder


def test_the_page_runs_and_the_store_holds_what_it_says(shop):
    blocks = re.findall(r"^```text\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    code = (
        "\n".join(blocks)
        + """
import pandas as pd
import numpy as np
frames = {name: pd.read_csv(f"shop/{name}.csv") for name in ("customers", "orders", "products")}
frames["customers"] = frames["customers"].drop(columns="churned")
by_frames = mlflow.pyfunc.load_model(logged.model_uri, model_config={"data": frames}).predict(X)
folder = mlflow.artifacts.download_artifacts(logged.model_uri)
print(json.dumps({
    "same": bool((probabilities == model.predict_proba(X, later)[:, 1]).all()),
    "frames": bool((by_frames == probabilities).all()),
    "text": str(again) == str(model.model_),
    "files": sorted(os.listdir(folder)),
    "inputs": len(logged.signature.inputs.inputs),
    "metrics": mlflow.get_run(logged.run_id).data.metrics,
    "report": open(f"{folder}/report.html", encoding="utf-8").read().count("<html"),
    "card": open(f"{folder}/card.md", encoding="utf-8").read()[:40],
    "sql": open(f"{folder}/model.sql", encoding="utf-8").read()[:4],
    "held_out": model.model_.settings["held_out_loss"],
}))
"""
    )
    found = json.loads(run(shop, code).splitlines()[-1])
    assert found["same"] and found["frames"] and found["text"]
    assert {"model.json", "card.md", "model.sql", "report.html", "MLmodel"} <= set(found["files"])
    assert found["inputs"] == 1 and found["report"] == 1 and found["sql"] == "WITH"
    assert found["card"].startswith("# For which customers is churned true?")
    assert found["metrics"]["held_out_loss"] == found["held_out"]
    assert found["metrics"]["held_out_loss"] < found["metrics"]["held_out_loss_of_base_rate"]


def test_numbers_classes_and_what_is_wrong(shop):
    code = """
import numpy as np
import hornbeam as hb, hornbeam.mlflow
from hornbeam.errors import HornbeamError
loaded = hb.load("shop", target="customers.age", examples="train.csv")
X, y = loaded.examples()
number = hb.RLRRegressor(database=loaded, n_bags=2).fit(X, y)
regions = hb.load("shop", target="customers.region", examples="train.csv")
K, k = regions.examples()
labels = ["abc"[place % 3] for place in range(len(K))]
kinds = hb.RLRClassifier(database=regions, n_bags=2, max_effects=2).fit(K, labels)
said = {}
for name, fitted, keys in (("number", number, X), ("classes", kinds, K)):
    hornbeam.mlflow.save_model(fitted, name, X=keys, data="shop")
    served = mlflow.pyfunc.load_model(name)
    found = served.predict(keys[:5])
    direct = fitted.predict(keys[:5]) if name == "number" else fitted.predict_proba(keys[:5])
    said[name] = [bool((np.asarray(found) == direct).all()), list(getattr(found, "columns", []))]
hornbeam.mlflow.save_model(number.model_, "bare")
for wrong in (
    lambda: hornbeam.mlflow.save_model(number, "number"),
    lambda: hornbeam.mlflow.save_model(number.model_, "new", X=X),
    lambda: mlflow.pyfunc.load_model("bare").predict(X),
):
    try:
        wrong()
    except HornbeamError as error:
        said.setdefault("errors", []).append(str(error))
print(json.dumps(said))
"""
    found = json.loads(run(shop, code).splitlines()[-1])
    assert found["number"] == [True, []]
    assert found["classes"] == [True, ["a", "b", "c"]]
    first, second, third = found["errors"]
    assert "is not empty" in first and "estimator" in second and "model_config" in third


def test_without_mlflow_it_says_what_to_install():
    if find_spec("mlflow") is not None:
        pytest.skip("MLflow is in this environment")
    with pytest.raises(OptionError, match=r"hornbeam\[mlflow\]"):
        hornbeam.mlflow.load_model("models:/churn/1")
