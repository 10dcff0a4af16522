"""Looking inside: traces, attention maps, descriptions."""
