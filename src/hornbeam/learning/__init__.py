"""From counts to a model: the learners, their options, the loop of steps."""
