"""What a model says of the tokens of an output: what its confidence is made of."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.data.sources import Source
from regard.data.vocabulary import BOS, EOS
from regard.evaluation.calibration import TokenScores
from regard.inference.batching import AnyModel, device_of, evaluating, pad_sources


def token_scores(model: AnyModel, source: Source, ids: Sequence[int], finished: bool) -> TokenScores:
    """One forward pass with the output forced."""
    target_out = [*ids, EOS] if finished else list(ids)
    device = device_of(model)
    with evaluating(model):
        rows, mask = pad_sources([source], device)
        logits = model(rows, mask, torch.tensor([[BOS, *target_out[:-1]]], device=device))
        log_probs = torch.log_softmax(logits[0].float(), dim=-1)  # (T, V)
        chosen = torch.tensor(target_out, device=device).unsqueeze(1)
        own = log_probs.gather(1, chosen).squeeze(1)
        others = log_probs.scatter(1, chosen, -torch.inf).max(-1).values
    return TokenScores(tuple(own.tolist()), tuple((own - others).tolist()), len(source))
