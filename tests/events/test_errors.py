"""What errors say."""

from events.errors import Compacted, Conflict, DormError, Rejected


def test_a_refusal_names_field_value_rule_and_way_out() -> None:
    """The user changes the request by what stands there, without a manual."""
    error = Rejected("is below min (3)", field="scale.max", value="1", hint="set it to 3 or more")

    assert "scale.max: 1 is below min (3) (set it to 3 or more)" == str(error)
    assert ("scale.max", "1", "is below min (3)", "set it to 3 or more") == (
        error.field,
        error.value,
        error.rule,
        error.hint,
    )


def test_a_refusal_says_only_what_it_knows() -> None:
    """No empty brackets, no lonely colon."""
    assert "the request is empty" == str(Rejected("the request is empty"))
    assert isinstance(Conflict("x"), Rejected)


def test_a_compacted_watch_says_where_to_go_on() -> None:
    """The reader lists again and watches from there."""
    error = Compacted(42)

    assert isinstance(error, DormError)
    assert (42, "the history before revision 42 is compacted") == (error.revision, str(error))
