"""What all tasks on one structure share."""

import pytest

from maxmargin.tasks import ConstituencyParser, DependencyParser, RNAFolder, StringAligner

TASKS = {
    "parsing": (
        DependencyParser(max_epochs=2),
        [[("a", "X"), ("b", "Y")]] * 4,
        [[(2, "r"), (0, "root")]] * 4,
    ),
    "constituency": (
        ConstituencyParser(min_count=1, max_epochs=2),
        [[("a", "A"), ("b", "B")]] * 2,
        ["(S (A a) (B b))"] * 2,
    ),
    "strings": (StringAligner(max_epochs=2), [("ab", "ab")] * 3, [[(0, 0), (1, 1)]] * 3),
    "folding": (RNAFolder(max_epochs=2), ["GGGAAACCC"] * 2, ["(((...)))"] * 2),
}


@pytest.mark.filterwarnings("ignore::maxmargin.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", TASKS)
def test_a_warm_start_takes_new_options(name):
    task, inputs, outputs = TASKS[name]
    task.set_params(warm_start=True, alpha=0.5).fit(inputs, outputs)
    task.set_params(alpha=0.25, solver="eg").fit(inputs, outputs)
    assert (task.model_.alpha, task.model_.solver) == (0.25, "eg")
    assert task.predict(inputs)[0] == outputs[0]


@pytest.mark.parametrize("name", TASKS)
def test_nothing_to_learn_from_is_told(name):
    with pytest.raises(ValueError, match="there are no .* to learn from"):
        TASKS[name][0].fit([], [])
