"""Applications on the library: lessons and comparisons. The core imports nothing of them."""
