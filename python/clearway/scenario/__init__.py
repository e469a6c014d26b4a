"""Scenario files: their JSON Schema, commented templates, and what a scenario would simulate."""
