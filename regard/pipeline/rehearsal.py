"""When a model is worth making ready for searches (regard.models.stepping), and when it must be made ready anew."""

from __future__ import annotations

from regard.models.seq2seq import Model
from regard.models.stepping import stepping
from regard.nn.taps import watched

WORTH = 16  # sources: what it takes to make ready is won back after about so many (LOG.md)


class Rehearsal:
    """A model, and the same made ready once enough has been asked of it. Weights that change are seen."""

    def __init__(self, model: Model) -> None:
        self._model, self._ready = model, model
        self._asked = 0
        self._made_of = -1

    def model(self, sources: int) -> Model:
        """The one to search so many sources with."""
        self._asked += sources
        if self._asked < WORTH or watched():
            return self._model
        now = sum(parameter._version for parameter in self._model.parameters())  # each change in place adds one
        if now != self._made_of:
            self._ready, self._made_of = stepping(self._model), now
        return self._ready
