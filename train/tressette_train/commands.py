"""What the commands of the game itself print: perft and replay."""

from __future__ import annotations

import sys
from pathlib import Path

from tressette_env.card_notation import card_name, card_text
from tressette_env.cards import card_list, sort_cards
from tressette_env.deals import deck_of, first_leader
from tressette_env.errors import NotationError, TressetteError, shown
from tressette_env.match import MATCH_DRAWN, MATCH_OPEN, add_deal, start_match
from tressette_env.notation import DealRecord, GameRecord, parse_record
from tressette_env.randomness import check_seed
from tressette_env.rules import deal as start_deal
from tressette_env.rules import is_over, play_card, side_of
from tressette_env.rulesets import RuleSet, get_rules
from tressette_env.state import State, new_state
from tressette_env.tokens import MAX_CHARACTERS

__all__ = ["perft", "replay"]


def perft(rules: str, seed: int, deal: int, depth: int, divide: bool) -> None:
    """Print the number of sequences of ``depth`` legal cards from deal number ``deal`` of a seed.

    Raises
    ------
    OptionError, RulesError
        If an argument is out of range, or the rules cannot be played.
    """
    from tressette_env import perft as counting  # loads numba

    house = get_rules(rules)
    seed, number = check_seed(seed), check_seed(deal, "deal")
    state = new_state()
    start_deal(state, house, deck_of(house, seed, number), first_leader(house, seed, number))
    if not divide:
        print(counting.perft(state, house, depth))
        return
    counts = counting.divide(state, house, depth)
    for card in sort_cards(counts):
        print(f"{card_text(card)} {counts[card]}")
    print(f"all {sum(counts.values())}")


def replay(file: Path) -> None:
    """Print a recorded game trick by trick, with Italian card names; ``-`` is standard input.

    Raises
    ------
    TressetteError
        If the file cannot be read, or is no record.
    """
    name = "standard input" if str(file) == "-" else str(file)
    try:
        # One byte too many is enough for a clear refusal, also of what never ends.
        if str(file) == "-":
            content = sys.stdin.buffer.read(MAX_CHARACTERS + 1)
        else:
            with file.open("rb") as stream:
                content = stream.read(MAX_CHARACTERS + 1)
    except OSError as error:
        raise TressetteError(
            f"{name}: cannot be read ({error.strerror or error}); expected a game record"
        ) from None
    try:
        record = parse_record(content)
    except NotationError as error:
        raise TressetteError(f"{name}, {error}") from None
    print("\n".join(_game_lines(record)))


def _game_lines(record: GameRecord) -> list[str]:
    rules = record.rules
    state = new_state()
    start_match(state)
    seed = "" if record.seed is None else f", seed {record.seed}"
    name = rules.name if rules.name.isprintable() else shown(rules.name)
    lines = [f"{name}: {rules.seats} seats{seed}"]
    for deal in record.deals:
        lines += ["", *_deal_lines(state, rules, deal)]
    return lines


def _deal_lines(state: State, rules: RuleSet, deal: DealRecord) -> list[str]:
    start_deal(state, rules, deal.deck, deal.leader)
    lines = ["a deck given by hand" if deal.number is None else f"deal {deal.number}"]
    for seat in range(rules.seats):
        lines.append(
            f"player_{seat} (side {side_of(seat)}): {_names(card_list(state.hands[seat]))}"
        )
    for first in range(0, len(deal.plays), rules.seats):
        lines += _trick_lines(state, rules, deal.plays[first : first + rules.seats])
    if not is_over(state, rules):
        return [*lines, f"unfinished: {len(deal.plays)} of {rules.deck_size} cards played"]
    add_deal(state, rules)
    unit = "points" if rules.scored_in_points else "thirds"
    lines.append(f"result {state.thirds[0]}-{state.thirds[1]} thirds")
    lines.append(f"totals {state.totals[0]}-{state.totals[1]} {unit}")
    if state.match_result == MATCH_DRAWN:
        lines.append("the match is drawn")
    elif state.match_result != MATCH_OPEN:
        lines.append(f"side {state.match_result - 1} has won the match")
    return lines


def _trick_lines(state: State, rules: RuleSet, plays: tuple[int, ...]) -> list[str]:
    trick = state.ply // rules.seats + 1
    drawn = state.drawn
    lines = [f"trick {trick}"]
    for card in plays:
        lines.append(f"  player_{state.turn} plays {card_name(card)}")
        play_card(state, rules, card)
    if len(plays) < rules.seats:
        return lines
    winner = state.leader
    lines.append(f"  player_{winner} takes it; thirds {state.thirds[0]}-{state.thirds[1]}")
    lines += [
        f"  player_{(winner + place) % rules.seats} draws {card_name(card)}"
        for place, card in enumerate(state.stock[drawn : state.drawn])
    ]
    return lines


def _names(cards: list[int]) -> str:
    return ", ".join(card_name(card) for card in sort_cards(cards))
