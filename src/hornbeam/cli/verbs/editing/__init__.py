"""The verbs that change models."""
