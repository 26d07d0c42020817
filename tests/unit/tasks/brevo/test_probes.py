import pytest

from anira.tasks.brevo.probes import PROBES, Search

# 12 <- 5 18, 5 <- 8 19, 18 <- 8, and 30, which the query does not need
EDGES = [(19, 5), (8, 5), (5, 12), (18, 12), (8, 18), (5, 30)]


@pytest.mark.parametrize("order", [[8, 19, 5, 18], [8, 18, 19, 5], [19, 8, 5, 18]])
def test_orders_with_dependencies_first_are_accepted(order: list[int]) -> None:
    assert Search(EDGES, 12).accepts(order)


@pytest.mark.parametrize(
    "order",
    [
        [],
        [8, 19, 5],  # one is missing
        [8, 19, 18, 5, 12],  # with the query
        [8, 8, 19, 5, 18],  # one is there twice
        [8, 19, 5, 18, 30],  # one is not needed
        [8, 5, 19, 18],  # 5 depends on 19
        [18, 8, 19, 5],  # 18 depends on 8
    ],
)
def test_other_orders_are_refused(order: list[int]) -> None:
    assert not Search(EDGES, 12).accepts(order)


def test_a_dependent_outside_the_answer_does_not_count() -> None:
    search = Search(EDGES, 12)
    assert search.children[5] == [12]
    assert search.num_edges == 5


def test_the_longest_chain_is_not_the_shortest_way() -> None:
    search = Search([(1, 4), (1, 2), (2, 3), (3, 4)], 4)
    assert search.longest_chain == 3
    assert search.distance[1] == 1


def test_a_long_chain_is_searched_to_its_end() -> None:
    search = Search([(i, i + 1) for i in range(1, 255)], 255)
    assert search.order == list(range(1, 255))
    assert search.tree_depth[1] == search.longest_chain == 254


def test_every_probe_belongs_to_the_position_that_predicts_its_node() -> None:
    assert {probe.anchor for probe in PROBES} == {"target"}
