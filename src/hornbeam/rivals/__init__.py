"""Learners to compare with: AGG-LR, ILP-RLR, MLN-Boost and RDN-Boost. They are imported when used."""
