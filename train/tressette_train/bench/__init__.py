"""How fast the kit plays: what is measured, how, and how it is shown (``tressette bench``)."""
