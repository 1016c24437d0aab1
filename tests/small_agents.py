"""Every installed agent with little effort, for tests about legal cards, seeds and hidden cards."""

from __future__ import annotations

from tressette_env.errors import RulesError
from tressette_env.policies import Agent, installed_additions, installed_agents, make_agent
from tressette_env.rulesets import PRESETS, RuleSet, playable_presets

__all__ = ["HOUSES", "agents_for", "small_specs"]

_SMALL = {
    "flat": ["flat:worlds=2", "flat:worlds=1,leaf=play,rollout=greedy"],
    "pimc": ["pimc:worlds=1", "pimc:worlds=1,draws=0,tricks=2"],
    "ismcts": ["ismcts:iterations=12"],
    "learned": [],  # needs a file: test_learned.py asks the same of it
    "program": [],  # needs a command: test_program.py
}

HOUSES = [PRESETS[name] for name in playable_presets()] + [
    RuleSet(name="shown_free", follow="stock_empty", draws="shown"),
    RuleSet(name="fewest", objective="fewest"),
    RuleSet(name="fewest_partners", seats=4, objective="fewest"),
]


def small_specs() -> list[str]:
    """Specs of all installed agents that do not cheat, a new one's included."""
    specs = []
    for name in installed_agents():
        specs += [spec for spec in _SMALL.get(name, [name]) if not make_agent(spec).cheats]
    return specs + [f"greedy+{addition}" for addition in installed_additions()]


def agents_for(rules: RuleSet) -> list[Agent]:
    """Those of them that play some rules; the others have refused them."""
    agents = []
    for agent in map(make_agent, small_specs()):
        try:
            agent.check_rules(rules)
        except RulesError:
            continue
        agents.append(agent)
    return agents
