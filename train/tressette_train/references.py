"""Measuring the policy against fixed agents while it is trained.

On the same deals each time, in both seatings, with the most probable card: what ``tressette eval``
would say of it. It draws nothing from training's random streams and so changes no weight.
"""

from __future__ import annotations

import copy

from tressette_agents.endings import EndingsAgent
from tressette_agents.learned import LearnedAgent
from tressette_agents.networks import PolicyNetwork
from tressette_agents.policy_file import LoadedPolicy
from tressette_env.observation import Layout
from tressette_env.policies import Agent, as_agent
from tressette_env.rulesets import RuleSet
from tressette_train.config import TrainConfig
from tressette_train.evaluate import PairingResult, summarise
from tressette_train.match_play import play_pairing

__all__ = ["References"]

_NAME = "learned:(training)"


class References:
    """The fixed agents of a run.

    Parameters
    ----------
    config : TrainConfig
        ``evaluation`` says whom, how often and on how many deals.
    rules : RuleSet
    layout : Layout
        The policy's observations.

    Raises
    ------
    TressetteError
        If an agent cannot be made, or does not play the rules.
    """

    def __init__(self, config: TrainConfig, rules: RuleSet, layout: Layout) -> None:
        self.config = config.evaluation
        self.rules = rules
        self.layout = layout
        self.exact_endings = config.rollout.exact_endings
        self.agents: list[Agent] = []
        if self.config.every:
            self.agents = [as_agent(spec) for spec in self.config.agents]
        for agent in self.agents:
            agent.check_rules(rules)

    def are_due(self, update: int) -> bool:
        """Whether the policy is to be measured after so many updates."""
        return bool(self.agents) and update % self.config.every == 0

    def measure(self, network: PolicyNetwork) -> list[PairingResult]:
        """Play the policy as it is now against each agent.

        Raises
        ------
        AgentFailedError
            If an agent raises, or plays a card that it may not.
        """
        frozen = copy.deepcopy(network).cpu().eval().requires_grad_(False)
        loaded = LoadedPolicy(frozen, self.rules, self.layout, self.exact_endings, {})
        policy: Agent = LearnedAgent(loaded, _NAME)
        if self.exact_endings:
            policy = EndingsAgent(policy, _NAME)
        deals, seed = self.config.deals, self.config.seed
        return [
            summarise(
                policy,
                agent,
                self.rules,
                seed,
                play_pairing(policy, agent, self.rules, deals, seed),
            )
            for agent in self.agents
        ]
