"""The words of a text, each with its place, and the errors that point at them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from tressette_env.errors import NotationError

__all__ = [
    "CUT_OFF",
    "MAX_CHARACTERS",
    "RESTORE",
    "Reader",
    "Token",
    "read_number",
    "read_number_or_none",
    "token_lines",
]

MAX_CHARACTERS = 1_000_000  # of a text; a match of a hundred deals has about 120,000

# How to go on after a damaged record.
CUT_OFF = "a line is missing or damaged: restore it"
RESTORE = "restore what was written there"

_LARGEST = (1 << 63) - 1  # numbers of the kit fit in 64 bits
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^ \t]+')  # a quoted text is one word
_ODD = re.compile(r"[^\n\t -~]")


class Token(NamedTuple):
    """One word of a text, empty at the end of a line, and where it stands, from 1."""

    text: str
    line: int
    column: int

    def part(self, start: int, stop: int | None = None) -> Token:
        """Return a piece of the word, at its own column."""
        return Token(self.text[start:stop], self.line, self.column + start)

    def refuse(self, expected: str, hint: str) -> NoReturn:
        """Raise ``NotationError``: what was expected here, what came, and how to go on."""
        shown = self.text if len(self.text) <= 40 else self.text[:37] + "..."
        came = repr(shown) if shown else "the end"
        message = f"expected {expected}, got {came}; {hint}"
        raise NotationError(message, self.line, self.column) from None


def token_lines(text: str | bytes) -> list[list[Token]]:
    """Split a text into the words of its lines; blank lines are left out.

    Raises
    ------
    NotationError
        If it is no text, is too long, or holds anything but plain ASCII.
    """
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    if not isinstance(text, str):
        raise NotationError(f"expected text, got {type(text).__name__}; pass a str")
    if len(text) > MAX_CHARACTERS:
        raise NotationError(f"expected at most {MAX_CHARACTERS:,} characters; this is no record")
    text = text.replace("\r\n", "\n")
    if odd := _ODD.search(text):
        line_start = text.rfind("\n", 0, odd.start()) + 1
        place = text.count("\n", 0, line_start) + 1, odd.start() - line_start + 1
        Token(odd[0], *place).refuse("plain ASCII text", "remove or replace the character")
    return [
        [Token(word[0], number, word.start() + 1) for word in _WORD.finditer(line)]
        for number, line in enumerate(text.split("\n"), 1)
        if line and not line.isspace()
    ]


class Reader:
    """The words of a record, line after line."""

    def __init__(self, text: str | bytes) -> None:
        self.lines = token_lines(text)
        self.row = -1
        self.words: deque[Token] = deque()  # what is left of the current line
        self.end = Token("", 1, 1)  # just behind the last word taken

    def peek(self) -> str:
        """First word of the next line; empty at the end of the text."""
        return self.lines[self.row + 1][0].text if self.row + 1 < len(self.lines) else ""

    def line(self, *keywords: str) -> Token:
        """Go to the next line, which begins with one of the keywords, and return that word."""
        self.finish_line()
        if self.peek():
            self.row += 1
            self.words = deque(self.lines[self.row])
        expected = " or ".join(map(repr, keywords))
        word = self.take(expected, CUT_OFF)
        if word.text not in keywords:
            word.refuse(expected, CUT_OFF)
        return word

    def take(self, expected: str, hint: str = RESTORE) -> Token:
        """Return the next word of the current line."""
        if not self.words:
            self.end.refuse(expected, hint)
        word = self.words.popleft()
        self.end = Token("", word.line, word.column + len(word.text))
        return word

    def take_rest(self, expected: str) -> Iterator[Token]:
        """Return the other words of the current line, at least one."""
        yield self.take(expected)
        while self.words:
            yield self.take(expected)

    def take_word(self, expected: str) -> None:
        """Pass over the next word, which must be the one expected."""
        word = self.take(repr(expected))
        if word.text != expected:
            word.refuse(repr(expected), RESTORE)

    def take_value(self, name: str) -> Token:
        """Return the value of the next word, ``name=value``."""
        word = self.take(f"{name}=...")
        if not word.text.startswith(f"{name}="):
            word.refuse(f"{name}=...", RESTORE)
        return word.part(len(name) + 1)

    def finish_line(self) -> None:
        """Refuse what is left of the current line."""
        if self.words:
            self.words[0].refuse("the end of the line", "remove what follows")


def read_number(token: Token, what: str) -> int:
    """Whole number of a word, without sign or leading zeros; raises ``NotationError``."""
    if not re.fullmatch(r"0|[1-9][0-9]{0,18}", token.text) or int(token.text) > _LARGEST:
        token.refuse(what, "write a whole number from 0 to 2**63 - 1")
    return int(token.text)


def read_number_or_none(token: Token, what: str) -> int | None:
    """Like ``read_number``; the word ``none`` is None."""
    return None if token.text == "none" else read_number(token, f"{what}, or none")
