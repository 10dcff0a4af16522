"""CTranslate2 as an engine: the model converted from our weights, and decoding with it."""
