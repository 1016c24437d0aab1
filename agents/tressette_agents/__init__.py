"""Agents that play Tressette from what one seat may know: scripted, searching and learned."""
