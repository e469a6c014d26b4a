"""Figures that no paper has: the systems of the five papers beside each other."""
