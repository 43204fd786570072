"""Malformed priorities and speed curves, each with the one message that a user reads."""

# ruff: noqa: E501 - a message stands on one line, as a user reads it and as one searches for it

from typing import Final

from tests.spec.texts import a_text

MALFORMED_SPEEDS: Final = (
    (
        "priority.high",
        a_text(priority="5000"),
        "priority: 5000 must be from -1000 to 1000 (write 1000 or less)",
    ),
    (
        "priority.word",
        a_text(priority="high"),
        'priority: "high" must be a whole number (write 1 or the like, without quotes)',
    ),
    (
        "priority.half",
        a_text(priority="1.5"),
        "priority: 1.5 must be a whole number (write 1 or the like, without quotes)",
    ),
    (
        "speed.number",
        a_text(speed="2"),
        "speed: 2 must be a mapping of containers to speed, or a list (write speed: {1: 1.0, 8: 6.5}, containers and their speed in any unit)",
    ),
    (
        "speed.size",
        a_text(speed="{one: 1.0}"),
        'speed: "one" must be a number of containers, from 1 to 10000 (write speed: {1: 1.0, 8: 6.5}, containers and their speed in any unit)',
    ),
    (
        "speed.size_zero",
        a_text(speed="{0: 1.0}"),
        'speed: "0" must be a number of containers, from 1 to 10000 (write speed: {1: 1.0, 8: 6.5}, containers and their speed in any unit)',
    ),
    (
        "speed.zero",
        a_text(speed="{1: 1.0, 8: 0}"),
        "speed.8: 0 must be above 0 and at most 1000000000 (leave the size out if it was never measured)",
    ),
    (
        "speed.inf",
        a_text(speed="{8: .inf}"),
        "speed.8: Infinity must be above 0 and at most 1000000000 (leave the size out if it was never measured)",
    ),
    (
        "speed.empty",
        a_text(speed="{8: }"),
        "speed.8: is missing (leave the size out if it was never measured)",
    ),
    (
        "speed.unit",
        a_text(speed="{8: 5/s}"),
        'speed.8: "5/s" must be a number (write 1, 2.5 or the like, without quotes)',
    ),
    (
        "speed.list_of_numbers",
        a_text(speed="[1.0, 1.8]"),
        "speed[0]: 1.0 must be a mapping (write the fields containers, speed, nodes)\nspeed[1]: 1.8 must be a mapping (write the fields containers, speed, nodes)",
    ),
    (
        "speed.no_size",
        a_text(speed="[{speed: 2}]"),
        "speed[0].containers: is missing (say for how many containers this speed is)",
    ),
    (
        "speed.twice",
        a_text(speed="[{containers: 2, speed: 2}, {containers: 2, speed: 3}]"),
        "speed[1]: 3.0 is about 2 containers, as speed[0] is (keep one of the two)",
    ),
    (
        "speed.many",
        a_text(speed="{" + ", ".join(f"{size}: 1" for size in range(1, 67)) + "}"),
        'speed: {"1": 1, "2": 1, "3": 1, "4": 1, "5": 1, "6": 1, "7": 1, ... has 66 sizes, more than 64 (leave some of them out)',
    ),
)
