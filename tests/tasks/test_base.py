"""What all tasks on one structure share."""

import pytest
from sklearn.base import clone

from maxmargin.callbacks import EarlyStopping
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


@pytest.mark.filterwarnings("ignore::maxmargin.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", TASKS)
def test_early_stopping_scores_what_is_predicted(name):
    """By the task's own score, or a metric of what `fit` takes and `predict` gives."""
    task, inputs, outputs = TASKS[name]
    stopping = EarlyStopping(inputs[:2], outputs[:2])
    fitted = clone(task).set_params(callbacks=[stopping]).fit(inputs, outputs)
    assert stopping.best_ == fitted.score(inputs[:2], outputs[:2])
    seen = []

    def metric(truth, found):
        seen.append(found[0])
        return float(truth[0] == found[0])

    watched = EarlyStopping(inputs[:2], outputs[:2], metric)
    fitted = clone(task).set_params(callbacks=[watched]).fit(inputs, outputs)
    assert {type(own) for own in seen} == {type(outputs[0])}
    assert watched.best_ == float(fitted.predict(inputs[:1])[0] == outputs[0])
    with pytest.raises(ValueError, match="no samples to watch"):
        clone(task).set_params(callbacks=[EarlyStopping([], [])]).fit(inputs, outputs)
