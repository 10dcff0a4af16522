"""Faster ways to compute what nn/ and models/ say, each beside a test that says fast = plain."""
