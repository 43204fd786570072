"""Numbers of JSON bodies."""


def as_whole(value: object) -> object:
    """Return 2 for 2.0, anything else as it is: JSON has one kind of number, however written."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
