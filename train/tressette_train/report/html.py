"""Elements of a page, escaped by construction: text stays text until ``tag`` makes an element."""

from __future__ import annotations

import html
import re
from typing import TypeAlias

__all__ = ["Content", "Html", "dot", "line", "swatch", "tag"]

# What a page cannot hold or must not show as it is: controls, half characters, and marks that
# turn the direction of what follows.
_ODD = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_EMPTY = ("meta", "br", "hr")  # elements without an end


class Html(str):
    """Markup that ``tag`` has made; any other text is escaped where it is put."""


Content: TypeAlias = "str | int | list[Html] | None"


def tag(name: str, /, *content: Content, **attributes: str | float | None) -> Html:
    """Return an element.

    Parameters
    ----------
    name : str
    *content : str, int, Html, list of Html, or None
        Anything but ``Html`` is escaped; None is left out.
    **attributes : str or float, optional
        With ``_`` for ``-``, and one more at the end of a Python word: ``class_``. None is left
        out.
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Html(f"<{name}{shown}>")
    return Html(f"<{name}{shown}>{''.join(map(_markup, content))}</{name}>")


def _markup(content: Content) -> str:
    if content is None:
        return ""
    if isinstance(content, list):
        return "\n".join(content)
    return content if isinstance(content, Html) else _escaped(str(content))


def _escaped(text: str) -> str:
    return html.escape(_ODD.sub("\ufffd", text))


def line(x1: float, x2: float, y: float, class_: str) -> Html:
    """Return a level line in a drawing; places across in per cent, down in pixels."""
    return tag("line", x1=f"{x1:.2f}%", x2=f"{x2:.2f}%", y1=y, y2=y, class_=class_)


def dot(x: float, y: float, class_: str) -> Html:
    """Return a dot in a drawing; its place across in per cent, down in pixels."""
    return tag("circle", cx=f"{x:.2f}%", cy=y, r=4, class_=class_)


def swatch(colour: int, text: str) -> Html:
    """Return an entry of a legend."""
    return tag("span", tag("i", class_=f"swatch c{colour}"), text, class_="entry")
