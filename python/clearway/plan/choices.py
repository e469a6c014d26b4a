"""The words between which a user of the planner's control laws chooses.

They stand apart from the laws, which need NumPy, so that the command knows its options without it.
"""

from typing import Literal, get_args

#: Sign of PACC's eq. (16).
Sign = Literal["printed", "negative-feedback"]
SIGNS: tuple[Sign, ...] = get_args(Sign)
#: Unit of the queue Q in PACC's eq. (2), which the paper leaves unstated (PACC-1).
Unit = Literal["KB", "packets", "bytes"]
#: Start of ExpressPass's flows.
Start = Literal["together", "newcomer"]
STARTS: tuple[Start, ...] = get_args(Start)
#: The simulator's readings of Algorithm 1: line 12 as printed, which the model has, its default, and the loss applied
#: to the rate that had it.
Feedback = Literal["sigcomm17-printed", "sigcomm17", "sigcomm17-matched"]
