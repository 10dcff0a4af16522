"""eole: its greedy and its beam search."""

from __future__ import annotations

from typing import Any

from _eole import eole_model
from _search import Ends, Search, serve
from eole.config.run import PredictConfig  # pyrefly: ignore[missing-import]
from eole.predict.beam_search import GNMTGlobalScorer  # pyrefly: ignore[missing-import]
from eole.predict.translator import Translator  # pyrefly: ignore[missing-import]
from eole.utils.logging import logger  # pyrefly: ignore[missing-import]
from torch import Tensor


def make(fields: dict[str, Any]) -> Search:
    model, vocabularies, settings = eole_model(fields)
    config = PredictConfig(
        model_path="of random weights",
        src="none",
        max_length=fields["longest"],
        max_length_ratio=0,
    )
    translator = Translator(
        model.eval(),
        vocabularies,
        config,
        settings.model,
        device_id=-1,
        global_scorer=GNMTGlobalScorer.from_config(config),
        logger=logger,  # without one it prints
    )

    ends, plain = Ends(), translator._decode_and_generate

    def ending(decoder_in: Tensor, enc_out: Tensor, **settings: Any) -> tuple[Tensor, Any]:
        scores, attention = plain(decoder_in, enc_out, **settings)
        return ends.force(scores, enc_out), attention

    translator._decode_and_generate = ending

    def search(sources: Tensor, lengths: Tensor, beams: int) -> int:
        ends.begin(lengths)
        translator.update_settings(beam_size=beams, top_k=int(beams == 1))  # the best of one, else a beam
        batch = {"src": sources, "srclen": (sources != 0).sum(1)}
        output = translator.predict_batch(batch, attn_debug=False)
        return sum(len(best[0]) for best in output["predictions"])

    return search


if __name__ == "__main__":
    serve(make)
