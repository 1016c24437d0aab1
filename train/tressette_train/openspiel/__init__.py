"""Tressette as a game of OpenSpiel, and the kit's agents as its policies and bots.

``deal`` is a deal whose cards chance turns up one by one, ``observers`` is what a seat knows of it;
neither needs OpenSpiel. Importing ``game`` registers the game, ``agents`` has policies and bots.
"""
