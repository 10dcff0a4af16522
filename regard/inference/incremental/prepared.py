"""A model made ready for searches (regard.inference.incremental), and made ready anew when its weights have changed in
place."""

from __future__ import annotations

from regard.inference.incremental import stepping
from regard.models.seq2seq import Model
from regard.nn.taps import watched


class Rehearsal:
    """Always the same model, ready or not: what a search finds does not depend on how many there were before."""

    def __init__(self, model: Model) -> None:
        self._model, self._ready = model, model
        self._parameters = list(model.parameters())
        self._made_of = -1

    def model(self) -> Model:
        """The one to search with: ready, or as it is where somebody watches."""
        if watched():
            return self._model
        now = sum(parameter._version for parameter in self._parameters)  # each change in place adds one
        if now != self._made_of:
            self._ready, self._made_of = stepping(self._model), now
        return self._ready
