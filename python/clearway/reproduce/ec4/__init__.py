"""The figures of EC4."""
