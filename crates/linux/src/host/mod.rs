//! ExpressPass and EC4 at a host: data waits in the kernel, and one packet leaves per credit.
