"""The policy that a run starts as (``start_from``), where it is not one drawn at random."""

from __future__ import annotations

from tressette_agents.champions import NAME, champion_file
from tressette_agents.networks import PolicyNetwork
from tressette_agents.policy_file import LoadedPolicy, load_policy, rule_differences
from tressette_env.errors import ConfigError, shown
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.config import TrainConfig

__all__ = ["policy_to_start_from", "take_first_weights"]


def policy_to_start_from(source: str, rules: RuleSet) -> LoadedPolicy:
    """Read a policy that was trained for the rules.

    Parameters
    ----------
    source : str
        Policy file, run folder, or ``champion`` for the one that comes with the kit.
    rules : RuleSet

    Raises
    ------
    PolicyFileError
        If there is none, or it is damaged.
    ConfigError
        If it was trained for other rules.
    """
    path = champion_file(rules) if source == NAME else source
    if path is None:
        raise ConfigError(f"start_from: {NAME}: no policy for {rules.name!r} comes with the kit")
    policy = load_policy(path)
    differences = rule_differences(policy.rules, rules, policy.layout.episode)
    if differences:
        raise ConfigError(
            f"start_from: {shown(source)} was trained for {policy.rules.name!r} and cannot start "
            f"a run on {rules.name!r}: {'; '.join(differences)}"
        )
    return policy


def take_first_weights(network: PolicyNetwork, config: TrainConfig) -> None:
    """Give a run's network the weights of ``config.start_from``.

    Raises
    ------
    PolicyFileError, ConfigError
        If that policy is missing or damaged, or was trained for other rules, by another
        algorithm, or with another network.
    """
    source = config.start_from
    if source is None:
        return
    policy = policy_to_start_from(source, get_rules(config.rules))
    outputs = "values" if config.algorithm == "dmc" else "logits"
    if policy.outputs != outputs:
        raise ConfigError(
            f"start_from: expected a policy whose network gives {outputs} of cards, as "
            f"algorithm: {config.algorithm} trains them; {shown(source)} gives {policy.outputs}"
        )
    there, here = policy.network.spec, network.spec
    if there != here:
        sees = config.network.observation
        raise ConfigError(
            f"start_from: expected network.kind {here.kind}, network.hidden {list(here.hidden)} "
            f"and observation {sees!r} as in this config; {shown(source)} has {there.kind}, "
            f"{list(there.hidden)} and {policy.layout.kind!r}"
        )
    network.load_state_dict(policy.network.state_dict())
