"""Tests of the packages of the daemon, in fresh roots of Debian."""
