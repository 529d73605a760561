"""Word of what is going on, for whoever shows it."""


class Watch:
    """Hears how long work proceeds; this one keeps it to itself."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def stage(self, what: str, total: int | None = None, done: int = 0) -> None:
        """A new piece of work begins; `done` of its `total` units were there already."""

    def advance(self, units: int, pairs: int = 0) -> None:
        """So many units are finished, with so many pairs of query and document."""


SILENT = Watch()
