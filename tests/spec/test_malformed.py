"""What a user reads who made a mistake. Every message is part of the product."""

import pytest

from dorm.spec import SpecFaults, from_yaml
from tests.spec.malformed import MALFORMED_FORMS
from tests.spec.malformed_speed import MALFORMED_SPEEDS
from tests.spec.malformed_values import MALFORMED_VALUES
from tests.spec.texts import a_text

MALFORMED = (*MALFORMED_FORMS, *MALFORMED_VALUES, *MALFORMED_SPEEDS)


@pytest.mark.parametrize(
    ("text", "message"), [case[1:] for case in MALFORMED], ids=[case[0] for case in MALFORMED]
)
def test_a_mistake_is_told_with_field_value_rule_and_way_out(text: str, message: str) -> None:
    """A wrong message sends its reader the wrong way, so every one is fixed word for word."""
    with pytest.raises(SpecFaults) as caught:
        from_yaml(text)

    assert str(caught.value) == message


@pytest.mark.parametrize("message", [case[2] for case in MALFORMED])
def test_every_message_ends_with_a_way_out(message: str) -> None:
    """A refusal that does not say what to do next leaves its reader alone."""
    assert message.endswith(")")


def test_every_title_of_the_table_is_used_once() -> None:
    """Two cases under one title would be told apart by nobody."""
    titles = [title for title, _, _ in MALFORMED]
    assert len(set(titles)) == len(titles) >= 40


def test_all_mistakes_of_a_document_are_told_at_once() -> None:
    """One mistake a round would cost its author a round for each."""
    text = a_text(image=None, weight="-1", scale="{min: 3, max: 2}", wieght="2")

    with pytest.raises(SpecFaults) as caught:
        from_yaml(text)

    fields = [fault.field for fault in caught.value.faults]
    assert fields == ["wieght", "image", "scale.max", "weight"]


def test_a_kubernetes_manifest_is_told_how_a_spec_looks() -> None:
    """Many users come from there; a list of unknown fields alone would not help them."""
    manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: digits}\nspec: {}\n"

    with pytest.raises(SpecFaults) as caught:
        from_yaml(manifest)

    flat = [fault.field for fault in caught.value.faults if "flat" in fault.hint]
    assert flat == ["apiVersion", "kind", "metadata", "spec"]
