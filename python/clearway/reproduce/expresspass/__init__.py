"""Figures of ExpressPass (SIGCOMM 2017)."""
