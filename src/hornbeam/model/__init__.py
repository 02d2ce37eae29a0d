"""What was learned, and its use: predict, explain, evaluate, model files."""
