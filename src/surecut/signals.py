"""The signals that people and systems end a command with: the word for it, and the exit status that says so."""

import signal

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


def status_of(number: int) -> int:
    return 128 + number
