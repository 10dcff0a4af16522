"""The one exception for a user's mistake: its message is one line that names what, where, the value, the remedy."""

import unicodedata

LONGEST, HEAD, TAIL = 1000, 600, 300  # characters of a message; of a longer one so many from its start and its end


class UserError(Exception):
    """Raised for bad input. The command line prints the message and exits with 2; no traceback.

    What is quoted from files may hold anything: control characters and line ends are escaped, and much of it is cut.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


def one_line(text: str) -> str:
    """The text without characters that a terminal obeys or that reorder a line, and not too long."""
    if len(text) > LONGEST:
        text = f"{text[:HEAD]} … {text[-TAIL:]}"
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    # Cc control, Cf format (bidi overrides among them; joiners are letters of some scripts), Cs surrogates, Zl, Zp
    if (
        unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
        or "\u202a" <= letter <= "\u202e"
        or ("\u2066" <= letter <= "\u2069")
    ):
        return letter.encode("unicode_escape", "surrogatepass").decode()
    return letter
