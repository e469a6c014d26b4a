"""Simulations in worker processes: how they start, end, and keep what they computed."""
