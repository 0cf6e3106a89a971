"""The example of a cluster is created as specified, and deleted without remains."""

from __future__ import annotations

from clusters import delete_example, make_example
from infra import Infra
from storage import Storage


def test_a_member_makes_the_cluster_of_the_example(member: Infra, storage: Storage) -> None:
    make_example(member, storage)


def test_a_member_deletes_the_cluster_of_the_example(member: Infra) -> None:
    delete_example(member)
