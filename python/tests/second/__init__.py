"""Ultra Ethernet's congestion control a second time, in Python and from its description alone.

It shares no line with the Rust code, and the test vectors must find no difference between the two.
"""
