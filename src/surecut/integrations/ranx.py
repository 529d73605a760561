"""ranx: a `Run` in, a `Run` with the survivors out.

>>> pruned = Prune("cert.json").prune(Run.from_file("bm25.trec"))  # doctest: +SKIP
"""

from typing import Any

from surecut.extras import needed
from surecut.integrations.dicts import DictPrune

needed("ranx", "ranx")

from ranx import Run  # noqa: E402


class Prune(DictPrune):
    """A ranx `Run`, or a dict of that shape, through a certificate; what comes out is of the kind that went in."""

    def prune(self, run: Any) -> Any:
        """The run with the survivors only, under the same name; a `Run` has no queries without documents."""
        if not isinstance(run, Run):
            return super().prune(run)
        pruned = super().prune(run.to_dict())
        filled = {query: listed for query, listed in pruned.items() if listed}
        return Run(filled or None, name=run.name)
