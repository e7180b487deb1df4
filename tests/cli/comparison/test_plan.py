import pytest

from maxmargin.cli.comparison.plan import Cell, cells_of, check_plan, key_of, settings_of

PLAN = {"task": "tiny", "data": ["a"], "solvers": ["bcfw", "perceptron"], "sizes": [20, 10]}
FILES = [{"sha256": "1"}]
pytestmark = pytest.mark.usefixtures("tiny")


def test_plan_is_filled_in():
    plan = check_plan(PLAN)
    assert plan["sizes"] == [10, 20]
    assert plan["solvers"] == {"bcfw": {}, "perceptron": {}}
    assert (plan["seeds"], plan["seed"]) == (1, 0)
    assert plan["data"][0].endswith("/a")
    assert plan["data"][0].startswith("/")


def test_small_cells_come_first():
    cells = cells_of(check_plan({**PLAN, "seeds": 2, "seed": 5}))
    assert cells[:3] == [Cell("bcfw", 10, 5), Cell("perceptron", 10, 5), Cell("bcfw", 10, 6)]
    assert cells[-1].name == "perceptron-20-6"
    assert len(cells) == 8


def test_a_solvers_own_settings_come_before_the_common_ones():
    own = {"alpha": 0, "max-epochs": 500, "memory": "low"}
    plan = check_plan(
        {
            **PLAN,
            "alpha": 0.1,
            "tol": 0.01,
            "certify-every": 5,
            "solvers": {"bcfw": {}, "lean": {"solver": "dual-extragradient", **own}},
        }
    )
    assert settings_of(plan, "lean") == {
        "solver": "dual-extragradient",
        "alpha": 0.0,
        "tol": 0.01,
        "max-epochs": 500,
        "certify-every": 5,
        "options": {"memory": "low"},
    }
    assert settings_of(plan, "bcfw")["alpha"] == 0.1


def test_key_tells_what_a_cell_rests_on():
    plan = check_plan({**PLAN, "solvers": {"bcfw": {}, "fw": {"alpha": 1}}})
    key = key_of(plan, "bcfw", FILES)
    changed = {
        "data": key_of(plan, "bcfw", [{"sha256": "2"}]),
        "solver": key_of(plan, "fw", FILES),
        "largest size": key_of({**plan, "sizes": [10, 30]}, "bcfw", FILES),
        "tol": key_of({**plan, "tol": 0.5}, "bcfw", FILES),
    }
    assert all(other != key for other in changed.values())
    assert key_of({**plan, "sizes": [5, 20], "seeds": 9}, "bcfw", FILES) == key
    tested = {**plan, "test": ["/b"]}
    more = key_of({**tested, "sizes": [10, 30]}, "bcfw", FILES)
    assert more == key_of(tested, "bcfw", FILES)
    more = key_of({**tested, "sizes": [10, 30]}, "bcfw", FILES, fixed=False)
    assert more != key_of(tested, "bcfw", FILES, fixed=False)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"solver": "bcfw"}, "unknown key 'solver' .do you mean 'solvers'."),
        ({"sizes": []}, "sizes is missing"),
        ({"data": None}, "data is missing: give --data"),
        ({"task": 3}, "task must be a text"),
        ({"data": 3}, "data=3 must be a list of files"),
        ({"sizes": 10}, "sizes=10 must be a list"),
        ({"sizes": [0]}, "sizes=0 must be a whole number, 1 or more"),
        ({"sizes": [1.5]}, "sizes=1.5 must be a whole number"),
        ({"sizes": [True]}, "sizes=True must be a whole number"),
        ({"sizes": [5, 5]}, "names a size twice"),
        ({"seeds": 0}, "seeds=0 must be a whole number, 1 or more"),
        ({"alpha": -1}, "alpha=-1 must be a number, 0 or more"),
        ({"alpha": float("nan")}, "alpha=nan must be a number"),
        ({"tol": float("inf")}, "tol=inf must be a number"),
        ({"time-limit": 0}, "time-limit=0 must be a number, above 0"),
        ({"max-epochs": "9"}, "max-epochs='9' must be a whole number"),
        ({"loss": 1}, "loss=1 must be the name"),
        ({"solvers": "bcfw"}, "must be a list of names or a table"),
        ({"solvers": ["bcfw", "bcfw"]}, "names a solver twice"),
        ({"solvers": ["bcwf"]}, "solver 'bcwf' is unknown .do you mean 'bcfw'."),
        ({"solvers": ["../x"]}, "letters, digits"),
        (
            {"solvers": ["bcfw", "sdca"]},
            "solver sdca: cannot minimise the objective 'margin'; .*bcfw",
        ),
        ({"solvers": {"bcfw": 1}}, "solvers.bcfw=1 must be a table"),
        ({"solvers": {"bcfw": {"alpha": -1}}}, "solver bcfw: alpha=-1 must be"),
        ({"solvers": {"bcfw": {"stepp": 1}}}, "unknown option 'stepp' .do you mean 'step'."),
        ({"solvers": {"bcfw": {"step": [1]}}}, "solver bcfw: solver-options.step must be"),
        ({"solvers": {"bcfw": {"solver": 7}}}, "solver bcfw: solver=7 must be the name"),
        ({"task-options": {"x": 1}}, "in task-options of tiny: 'x' is no key"),
        ({"task-options": 1}, "task-options must be a table"),
    ],
)
def test_errors_are_named(change, words):
    with pytest.raises(ValueError, match=words):
        check_plan({**PLAN, **change})


def test_task_options_are_checked():
    plan = check_plan({**PLAN, "task-options": {"raise-at": 3}})
    assert plan["task-options"] == {"raise-at": 3}
    with pytest.raises(ValueError, match="'rise-at' is no key .*did you mean 'raise-at'"):
        check_plan({**PLAN, "task-options": {"rise-at": 3}})
    with pytest.raises(ValueError, match="raise-at must be a whole number"):
        check_plan({**PLAN, "task-options": {"raise-at": "x"}})
