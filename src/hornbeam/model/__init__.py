"""Learned models and their use: predict, explain, evaluate, read and write model files."""
