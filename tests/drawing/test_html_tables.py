"""What notebooks show: well-formed, escaped, with the numbers of the object itself."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from contract.problems import case
from maxmargin.drawing.html_tables import table_html
from maxmargin.metrics import per_label_scores
from maxmargin.result import History, Result, State, Status
from maxmargin.solvers import BCFW, Perceptron
from maxmargin.tasks.alignment.reports import alignment_report
from maxmargin.tasks.tagging.reports import TaggingReport, WeightTable

NASTY = "<script>alert('x')</script> & \"quoted\""


def parsed(html):
    """The element tree; fails unless every tag is closed and every string escaped."""
    tree = ElementTree.fromstring(f"<body>{html}</body>")
    assert not [node for node in tree.iter() if node.tag.endswith("script")]
    return tree


def cells(tree):
    return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]


@pytest.mark.parametrize("solver", [BCFW(max_epochs=3, tol=0.0), Perceptron(max_epochs=3)])
def test_results_show_certificate_numbers_and_curves(solver):
    result = solver.run(case("chain").problem)
    tree = parsed(result._repr_html_())
    words = "".join(tree.itertext())
    assert result.certificate()[1:] in words
    assert f"oracle calls {result.state.n_oracle}" in words
    assert sum(node.tag.endswith("svg") for node in tree.iter()) == 1


def test_a_result_without_history_has_no_curves_and_escapes_its_message():
    state = State(np.zeros(2), np.zeros(3), np.random.default_rng(0))
    given = {"primal": 2.0, "dual": 1.9, "gap": 0.1, "n_epochs": 7, "message": NASTY}
    result = Result(w=np.zeros(2), status=Status.STOPPED, history=History(), state=state, **given)
    tree = parsed(result._repr_html_())
    assert NASTY in "".join(tree.itertext())
    assert not [node for node in tree.iter() if node.tag.endswith("svg")]


def test_a_result_without_a_state_is_shown():
    result = replace(BCFW(max_epochs=3).run(case("chain").problem), state=None)
    assert result.certificate()[1:] in "".join(parsed(result._repr_html_()).itertext())


def test_tables_of_scores_and_weights():
    scores = per_label_scores([["a", NASTY]], [["a", "a"]])
    tree = parsed(scores._repr_html_())
    assert cells(tree)[0] == ["", "precision", "recall", "f1", "support"]
    assert sorted(cells(tree)[1:3]) == sorted(
        [["a", "0.5000", "1.0000", "0.6667", "1"], [NASTY, "0.0000", "0.0000", "0.0000", "1"]]
    )
    both = parsed(TaggingReport(scores, scores)._repr_html_())
    assert [node.text for node in both.iter("h4")] == ["chunks", "tags"]
    assert [n.text for n in parsed(TaggingReport(scores, None)._repr_html_()).iter("h4")] == [
        "tags"
    ]
    weights = WeightTable(("feature", "label", "weight"), ((NASTY, "b", -0.25),))
    assert cells(parsed(weights._repr_html_())) == [
        ["feature", "label", "weight"],
        [NASTY, "b", "-0.2500"],
    ]


def test_alignments_list_the_worst_pairs():
    pairs = [(["a"], ["b"]), ([NASTY, "c"], ["d", "e"])]
    links = [({(0, 0)}, {(0, 0)}), ({(0, 0)}, {(0, 0)})]
    report = alignment_report(pairs, [[(0, 0)], [(1, 1)]], links)
    tree = parsed(report._repr_html_())
    assert cells(tree)[1:] == [["1", "1.0000", f"{NASTY}-d", "c-e"]]
    assert "".join(tree.find(".//caption").itertext()) == str(report).splitlines()[0]


def test_a_table_takes_any_values():
    assert cells(parsed(table_html(["x"], [[True], [None], [1], [0.5]])))[1:] == [
        ["True"],
        ["None"],
        ["1"],
        ["0.5000"],
    ]
