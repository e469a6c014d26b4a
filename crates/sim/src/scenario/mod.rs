//! Scenario files (stub until the scenario branch lands).
