"""The command ``tressette critic``: games, a fit, and the critic's file with its hash."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tressette_env.policies import as_agent
from tressette_env.randomness import check_seed
from tressette_env.rulesets import get_rules
from tressette_train.critic import check_house, critic_to_bytes
from tressette_train.evaluate import check_deals, check_rules
from tressette_train.output_file import check_output, write_output

__all__ = ["run"]


def run(spec: str, out: Path, rules: str, deals: int, seed: int) -> None:
    """Fit a critic and write it.

    Parameters
    ----------
    spec : str
        Of the agent that plays against itself.
    out : Path
        Another file there is replaced.
    rules : str
    deals : int
    seed : int

    Raises
    ------
    TressetteError
        If an argument is out of range, the agent fails, or the file cannot be written.
    """
    from tressette_train.critic_fit import fit_critic, positions_of_games
    from tressette_train.share_bar import share_bar

    house = get_rules(rules)
    check_house(house)
    check_output("--out", out)
    check_deals(deals, "--deals")
    check_seed(seed, "--seed")
    agent = as_agent(spec)
    check_rules(agent, house)
    with share_bar() as show:
        positions = positions_of_games(
            agent, house, deals, seed, on_share=lambda share: show("playing", share / 2)
        )
        critic = fit_critic(
            positions,
            spec,
            house,
            deals,
            seed,
            on_share=lambda share: show("fitting", (1 + share) / 2),
        )
    data = critic_to_bytes(critic)
    write_output("--out", out, data)
    print(f"{out}: sha256 {hashlib.sha256(data).hexdigest()}")
