//! PAC at a host: pure acknowledgements wait in the kernel until PAC's controller releases them.
