"""What the model finds probable at each position of an output that is forced: p(y_t | y_<t, x) and its rivals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.analysis.view import AlternativeToken, Prediction
from regard.data.vocabulary import BOS, PAD

COUNT = 8  # alternatives at each position


def predictions(
    logits: Tensor, target_out: Sequence[int], tokens: Callable[[Sequence[int]], list[str]], text: bool
) -> tuple[Prediction, ...]:
    """Logits (T, V) of each position and the token that stands there. `text`: PAD and BOS are never said, as in search;
    False: the ids are those of classes."""
    log_probs = torch.log_softmax(logits.float(), dim=-1)  # (T, V)
    entropy = -torch.special.xlogy(log_probs.exp(), log_probs.exp()).sum(-1)
    own = log_probs.gather(1, torch.tensor(target_out)[:, None]).squeeze(1)
    if text:
        log_probs[:, [PAD, BOS]] = -torch.inf
    best, ids = log_probs.topk(min(COUNT, log_probs.shape[1] - 2 * text))
    found = []
    for row, token in enumerate(target_out):
        names = tokens(ids[row].tolist())
        rivals = zip(ids[row].tolist(), names, best[row].tolist(), strict=True)
        alternatives = tuple(AlternativeToken(id, name, round(log_prob, 4)) for id, name, log_prob in rivals)
        found.append(Prediction(token, round(own[row].item(), 4), round(entropy[row].item(), 4), alternatives))
    return tuple(found)
