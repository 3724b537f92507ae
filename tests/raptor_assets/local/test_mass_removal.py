"""A mass removal waits for a person, and nothing is built or dropped meanwhile."""

import pytest
from support.workshop import live, prose

from raptor_core.errors import SourceError, StoreError
from raptor_core.store.publishing import PublicationBatch

pytestmark = pytest.mark.slow

FEW = ("one/b.md", "two/c.md", "two/d.md")


def remove(workshop, *names):
    for name in names:
        workshop.remove(name)


def refusal(workshop):
    with pytest.raises(SourceError) as refused:
        workshop.build()
    return str(refused.value)


def test_more_than_half_stays_until_a_person_confirms(start):
    workshop, daemon = start()
    before = live(workshop)
    remove(workshop, *FEW)
    workshop.write("new.md", prose(12, seed=9))
    for _ in range(2):
        builds, dropped, reason = daemon.tick()
        assert (builds, dropped) == ([], [])
        for message in (reason, refusal(workshop)):
            assert "3 of 4 published documents are gone" in message
            assert "one/b.md, two/c.md, two/d.md" in message
            assert "--confirm-removal" in message
    assert live(workshop) == before
    report = workshop.build(confirm_removal=True)
    assert (report.built, report.dropped) == (["new.md"], list(FEW))
    assert daemon.tick()[2] == "2 partitions are up to date"


def test_a_drop_that_fails_is_reported_and_repeated(start, monkeypatch):
    workshop, _ = start()
    remove(workshop, "two/d.md")

    def refuse(*_given):
        raise StoreError("the disk is full")

    with monkeypatch.context() as planted:
        planted.setattr(PublicationBatch, "drop", refuse)
        report = workshop.build()
    assert (report.dropped, list(report.failed)) == ([], ["two/d.md"])
    assert "the disk is full" in report.failed["two/d.md"].reason
    assert "two/d.md" in live(workshop)[1]
    report = workshop.build()
    assert (report.dropped, report.failed) == (["two/d.md"], {})
