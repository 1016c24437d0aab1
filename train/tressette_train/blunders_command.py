"""The command ``tressette blunders``: progress, and what was given away as text or as JSON."""

from __future__ import annotations

import json
from typing import Any

from tressette_env.card_notation import card_text
from tressette_env.errors import RulesError
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.blunders import Blunders, check_endings, find_blunders
from tressette_train.evaluate import check_deals, versions
from tressette_train.exploit.game import check_size
from tressette_train.exploit.stock_losses import StockLosses, stock_losses
from tressette_train.played_deals import Watched
from tressette_train.share_bar import counter, share_bar

__all__ = ["run"]


def run(agent: str, against: str | None, rules: str, deals: int, seed: int, as_json: bool) -> None:
    """Print what an agent gives away: one JSON object, or text.

    Parameters
    ----------
    agent : str
        Spec.
    against : str, optional
        Spec of the agent in the other seat; by default the same.
    rules : str
        Preset. With a reduced deck also what the agent gives away while the stock lasts.
    deals, seed : int
    as_json : bool

    Raises
    ------
    TressetteError
        As ``find_blunders`` and ``stock_losses``; nothing has been printed then.
    """
    house = get_rules(rules)
    check_endings(house)
    check_deals(deals, "--deals")
    total = Watched.cards_to_play(house, deals, against is None)
    with share_bar() as show:
        advance = counter(show, "playing", total)
        found = find_blunders(agent, against, house, deals, seed, advance)
        stock = stock_losses(agent, house, on_progress=show) if _is_small(house) else None
    if as_json:
        content = {**found.to_json(), "stock": _stock_json(stock), "versions": versions()}
        print(json.dumps(content, indent=2, allow_nan=False))
    else:
        print("\n".join(_lines(found, stock)))


def _is_small(rules: RuleSet) -> bool:
    """Whether the whole game of the deck can be laid out."""
    try:
        check_size(rules)
    except RulesError:
        return False
    return True


def _stock_json(stock: StockLosses | None) -> dict[str, Any] | None:
    if stock is None:
        return None
    return {
        "loss_thirds": float(stock.by_trick.sum()),
        "by_trick": stock.by_trick.tolist(),
        "policy": "exact" if stock.samples is None else "estimated",
        "samples": stock.samples,
        "equilibrium_exploitability_thirds": stock.exploitability,
    }


def _lines(found: Blunders, stock: StockLosses | None) -> list[str]:
    opponent = "itself" if found.opponent == found.agent else found.opponent
    loss = found.per_ending
    lines = [
        f"{found.rules}: {found.agent} against {opponent}, {found.deals} deals of seed "
        f"{found.seed}, in both seats",
        f"given away with an empty stock: {loss.mean:.2f} thirds an ending "
        f"({loss.low:.2f} to {loss.high:.2f}); nothing in {100 * found.perfect_endings:.1f} % of "
        "endings",
        "",
        "cards left   thirds   95 % interval   decisions",
    ]
    for left in range(found.losses.shape[2], 0, -1):
        each, rate = found.per_decision(left), 100 * found.blunder_rate(left)
        ends = f"{each.low:.2f} to {each.high:.2f}"
        lines.append(f"{left:10}   {each.mean:6.2f}   {ends:>13}   {rate:7.1f} %")
    if found.worst:
        lines += ["", "The dearest of them, each with the command that shows every card's worth:"]
    for one in found.worst:
        lines += [
            f"  deal {one.deal}, seat {one.seat}, {one.cards_left} cards left: "
            f"{card_text(one.card)} for {card_text(one.best)}, {one.loss_thirds} thirds",
            f"    {one.position}",
        ]
    if stock is not None:
        policy = "exact policy"
        if stock.samples is not None:
            policy = f"policy estimated from {stock.samples} cards a view"
        lines += [
            "",
            f"given away while the stock lasts: {stock.by_trick.sum():.4f} thirds a deal, against "
            f"an equilibrium of exploitability {stock.exploitability:.4f} ({policy})",
        ]
        lines += [f"  trick {trick}: {loss:.4f}" for trick, loss in enumerate(stock.by_trick, 1)]
    return lines
