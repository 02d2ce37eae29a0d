"""The default learner: effects with curves, found along links and chosen by small steps over bags."""
