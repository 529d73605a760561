"""python -m fuzz.one TARGET [options of libFuzzer]: one reader, until a finding or the end of its time."""

import pkgutil
import sys

import atheris

import surecut.kernels

# The compiler of the kernels reads their bytecode, which watching changes.
_COMPILED = [f"surecut.kernels.{module.name}" for module in pkgutil.iter_modules(surecut.kernels.__path__)]

with atheris.instrument_imports(include=["surecut", "tomllib", "zipfile"], exclude=_COMPILED):
    from tests.hostile.readers import TARGETS


def main() -> None:
    """Feed a reader; anything but data or an InputError is a finding."""
    name, *options = sys.argv[1:]
    target = TARGETS[name]

    def one_input(content: bytes) -> None:
        target.answer(content)

    atheris.Setup([sys.argv[0], *options], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
