"""How torch is set up: deterministic, and without what takes seconds to load and is never used."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys, torch
from regard.threads import prepare
assert prepare(1) == 1 and torch.are_deterministic_algorithms_enabled()
assert not torch.utils.deterministic.fill_uninitialized_memory
sys.exit("torch._inductor" in sys.modules)
"""


def test_kernels_are_deterministic_and_no_compiler_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
