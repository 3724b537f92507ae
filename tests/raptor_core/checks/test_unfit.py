"""Reasons why a text is no summary of its sources."""

import pytest

from raptor_core.checks.junk import find_unfit

ENGLISH = (
    "The river rose in the night and the people of the town went up to the castle on the hill.",
    "When it was over they came down and found that the bridge and the mill had been taken.",
)
SUMMARY = (
    "The town was flooded in the night; its people fled to the castle on the hill, and when they "
    "came back the bridge and the mill were gone."
)
GERMAN = (
    "Der Fluss stieg in der Nacht, und die Leute der Stadt gingen hinauf zur Burg, die auf einem "
    "Hügel steht, den das Wasser nicht erreicht; danach war die Brücke nicht mehr da."
)
RUSSIAN = "Ночью река поднялась, и жители города ушли в замок на холме, а мост смыло водой."


def test_a_summary_in_its_sources_language_is_fit():
    assert find_unfit(SUMMARY, ENGLISH) is None
    assert find_unfit(GERMAN, [GERMAN, GERMAN]) is None


@pytest.mark.parametrize(
    ("text", "reason", "language"),
    [
        (GERMAN, "in German, its sources in English", "English"),
        (RUSSIAN, "in Cyrillic, its sources in Latin", "Latin"),
        ("I'm sorry, but I can't assist with that request.", "junk (refusal)", ""),
    ],
)
def test_another_language_or_script_and_junk_are_named(text, reason, language):
    found = find_unfit(text, ENGLISH)
    assert reason in found.reason
    assert found.language == language
