"""Figures of what theory says of congestion control."""
