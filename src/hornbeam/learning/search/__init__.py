"""Beam search over bodies, and the ridge fit that scores a clause."""
