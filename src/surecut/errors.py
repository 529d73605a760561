"""What surecut raises when the fault lies in what it was given."""

from collections.abc import Sequence

_LONGEST = 2000


class InputError(ValueError):
    """One sentence to the person who made the input: what was found, where, what to do.

    `commands` do it: they follow on lines of their own, to be pasted.
    """

    def __init__(self, sentence: str, commands: Sequence[str] = ()) -> None:
        sentence = _readable(sentence)
        super().__init__("\n  ".join((sentence, *commands)))
        self.sentence, self.commands = sentence, tuple(commands)

    def __reduce__(self) -> tuple[type["InputError"], tuple[str, tuple[str, ...]]]:
        """What another process has to say is said here in its words."""
        return InputError, (self.sentence, self.commands)


def _readable(sentence: str) -> str:
    """What the input is quoted with: no more than can be read, and nothing that a terminal would act on."""
    if len(sentence) > _LONGEST:
        sentence = f"{sentence[: _LONGEST // 2]} ... {sentence[-_LONGEST // 2 :]}"
    if sentence.isprintable():
        return sentence
    return "".join(each if each.isprintable() or each in "\n\t" else ascii(each)[1:-1] for each in sentence)


class Unscorable(InputError):
    """A model failed on what it was given: one text of it may be to blame."""


class NothingGoesThrough(Unscorable):
    """No text is to blame: a model fails on whatever it is given, or has begun to."""


class EvaluatorsDisagree(RuntimeError):
    """surecut's kernels and the independent evaluator gave different values for the same list."""
