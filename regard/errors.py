"""The one exception for a user's mistake: its message is one line that names what, where, the value, the remedy."""


class UserError(Exception):
    """Raised for bad input. The command line prints the message and exits with 2; no traceback."""
