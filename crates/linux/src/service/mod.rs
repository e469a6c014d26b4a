//! The daemon around a datapath: command line, configuration, logs, statistics, privileges.
