"""The learners, which turn counts into models, with their options and the loop of steps."""
