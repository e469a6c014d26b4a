"""Answers from the papers' own formulas, without a simulation: `clearway plan`.

>>> from clearway.plan import pacc
>>> round(pacc.Loop().margins().phase_deg)
53
"""
