"""Files of known labels: each row belongs to one target and has a label of that target."""

import pytest

from hornbeam.errors import DataError
from hornbeam.joint.targets import read_evidence
from hornbeam.joint.things import JointTarget

CANCER = JointTarget("cancer")
TOPIC = JointTarget("topic", ("a", "b"))
AREA = JointTarget("area", ("b", "c", "d"))


def read(tmp_path, lines, *targets):
    path = tmp_path / "evidence.csv"
    path.write_text("\n".join(lines) + "\n")
    found = read_evidence(path, dict.fromkeys(targets, 1))
    return {name: (keys[:, 0].tolist(), labels.tolist()) for name, (keys, labels) in found.items()}


def test_each_target_has_its_own_labels(tmp_path):
    lines = ["key,target,label", "x,cancer,1", "y,topic,b", "z,area,b", "z,cancer,0", "x,area,d"]
    assert read(tmp_path, lines, CANCER, TOPIC, AREA) == {
        "area": (["z", "x"], [0, 2]),
        "cancer": (["x", "z"], [1, 0]),
        "topic": (["y"], [1]),
    }


def test_a_target_may_be_spelled_in_two_ways(tmp_path):
    lines = ["key,target,label", "x,cancer,1", "y,Cancer,0"]
    assert read(tmp_path, lines, CANCER, TOPIC) == {"cancer": (["x", "y"], [1, 0])}


def test_rows_without_a_label_are_left_out(tmp_path):
    assert read(tmp_path, ["key,label", "x,a", "y,"], TOPIC) == {"topic": (["x"], [0])}


@pytest.mark.parametrize("labels", [("1", "2"), ("0.5", "1"), ("yes", "no")])
def test_labels_other_than_true_and_false_are_refused(tmp_path, labels):
    lines = ["key,label", *(f"k{number},{label}" for number, label in enumerate(labels))]
    with pytest.raises(DataError, match="must be 0 and 1, or true and false"):
        read(tmp_path, lines, CANCER)


def test_a_row_without_a_target_is_refused(tmp_path):
    with pytest.raises(DataError, match="a row has no target"):
        read(tmp_path, ["key,target,label", "x,cancer,1", "y,,0"], CANCER, TOPIC)
