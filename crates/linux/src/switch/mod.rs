//! Switches made of Linux: the kernel's traffic control, and a switch in user space for what that cannot do.
