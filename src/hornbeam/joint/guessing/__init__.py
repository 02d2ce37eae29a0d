"""How unknown labels are guessed together: mean field, and Gibbs sampling."""
