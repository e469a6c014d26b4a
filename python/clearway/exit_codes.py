"""The exit codes of the command, and what it says after Ctrl-C. It imports nothing, so that all may import it."""

#: After a failure.
FAILED = 1
#: After input that can't be meant, before anything ran.
BAD_INPUT = 2
#: After Ctrl-C.
INTERRUPTED = 130
#: The words for what Ctrl-C left behind.
WHOLE = "interrupted; every folder of results is as it was, or new and whole"
