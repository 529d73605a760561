"""Fuzzing by coverage: every reader against bytes that are bred to reach new lines of it."""
