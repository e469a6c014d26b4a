"""Sweeps: a scenario at every point that some axes span, each run once, as one data frame."""
