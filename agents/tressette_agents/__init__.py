"""Agents that play Tressette from what one seat may know: scripted, searching and learned.

``make_agent("greedy")`` makes an agent from its spec; ``docs/agents.md`` lists the specs.
"""

from __future__ import annotations

from tressette_env.policies import make_agent

__all__ = ["make_agent"]
