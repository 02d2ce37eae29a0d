"""What people read about a model: cards of effects and of constants, and reasons for a prediction."""
