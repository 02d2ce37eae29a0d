"""A joint fit that is stopped: by Ctrl-C it has no model, by a time limit its model says so."""

import pytest

from hornbeam.datasets.worlds import smokers
from hornbeam.joint.fitting.learner import fit_joint
from hornbeam.joint.targets import task_of
from hornbeam.learning.history import TIME_LIMIT
from hornbeam.learning.loop import Control, time_limit
from hornbeam.learning.options import EffectOptions
from hornbeam.model.files import model_text, parse_model

OPTIONS = EffectOptions(n_bags=1, n_steps=5)


def test_ctrl_c_ends_the_whole_fit():
    def interrupt(step):
        raise KeyboardInterrupt

    database = smokers(n_persons=40)
    with pytest.raises(KeyboardInterrupt):
        fit_joint(database, [task_of(database, "cancer")], OPTIONS, control=Control(interrupt))


def test_a_model_that_ran_out_of_time_says_so():
    database = smokers(n_persons=40)
    task = task_of(database, "cancer")
    model = fit_joint(database, [task], OPTIONS, control=Control(should_stop=time_limit(0.0))).model
    assert parse_model(model_text(model)).settings["cut"] == TIME_LIMIT
    assert not any(each.terms for each in model.members[0].neighbours)
