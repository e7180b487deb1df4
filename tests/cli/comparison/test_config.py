import pytest

from maxmargin.cli.comparison.config import (
    ComparisonRun,
    check_comparison,
    key_of,
    runs_of,
    settings_of,
)

CONFIG = {"task": "tiny", "data": ["a"], "solvers": ["bcfw", "perceptron"], "sizes": [20, 10]}
FILES = [{"sha256": "1"}]
pytestmark = pytest.mark.usefixtures("tiny")


def test_plan_is_filled_in():
    config = check_comparison(CONFIG)
    assert config["sizes"] == [10, 20]
    assert config["solvers"] == {"bcfw": {}, "perceptron": {}}
    assert (config["seeds"], config["seed"]) == (1, 0)
    assert config["data"][0].endswith("/a")
    assert config["data"][0].startswith("/")


def test_small_runs_come_first():
    run_specs = runs_of(check_comparison({**CONFIG, "seeds": 2, "seed": 5}))
    assert run_specs[:3] == [
        ComparisonRun("bcfw", 10, 5),
        ComparisonRun("perceptron", 10, 5),
        ComparisonRun("bcfw", 10, 6),
    ]
    assert run_specs[-1].name == "perceptron-20-6"
    assert len(run_specs) == 8


def test_a_solvers_own_settings_come_before_the_common_ones():
    own = {"alpha": 0, "max-epochs": 500, "memory": "low"}
    config = check_comparison(
        {
            **CONFIG,
            "alpha": 0.1,
            "tol": 0.01,
            "certify-every": 5,
            "solvers": {"bcfw": {}, "lean": {"solver": "dual-extragradient", **own}},
        }
    )
    assert settings_of(config, "lean") == {
        "solver": "dual-extragradient",
        "alpha": 0.0,
        "tol": 0.01,
        "max-epochs": 500,
        "certify-every": 5,
        "options": {"memory": "low"},
    }
    assert settings_of(config, "bcfw")["alpha"] == 0.1


def test_key_tells_what_a_run_rests_on():
    config = check_comparison({**CONFIG, "solvers": {"bcfw": {}, "fw": {"alpha": 1}}})
    key = key_of(config, "bcfw", FILES)
    changed = {
        "data": key_of(config, "bcfw", [{"sha256": "2"}]),
        "solver": key_of(config, "fw", FILES),
        "largest size": key_of({**config, "sizes": [10, 30]}, "bcfw", FILES),
        "tol": key_of({**config, "tol": 0.5}, "bcfw", FILES),
    }
    assert all(other != key for other in changed.values())
    assert key_of({**config, "sizes": [5, 20], "seeds": 9}, "bcfw", FILES) == key
    tested = {**config, "test": ["/b"]}
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
        ({"sizes": [0]}, "sizes=0 must be an integer, 1 or more"),
        ({"sizes": [1.5]}, "sizes=1.5 must be an integer"),
        ({"sizes": [True]}, "sizes=True must be an integer"),
        ({"sizes": [5, 5]}, "names a size twice"),
        ({"seeds": 0}, "seeds=0 must be an integer, 1 or more"),
        ({"alpha": -1}, "alpha=-1 must be a number, 0 or more"),
        ({"alpha": float("nan")}, "alpha=nan must be a number"),
        ({"tol": float("inf")}, "tol=inf must be a number"),
        ({"time-limit": 0}, "time-limit=0 must be a number, above 0"),
        ({"max-epochs": "9"}, "max-epochs='9' must be an integer"),
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
        ({"task-options": {"x": 1}}, "in task-options of tiny: 'x' is not a key"),
        ({"task-options": 1}, "task-options must be a table"),
    ],
)
def test_errors_are_named(change, words):
    with pytest.raises(ValueError, match=words):
        check_comparison({**CONFIG, **change})


def test_task_options_are_checked():
    config = check_comparison({**CONFIG, "task-options": {"raise-at": 3}})
    assert config["task-options"] == {"raise-at": 3}
    with pytest.raises(ValueError, match="'rise-at' is not a key .*did you mean 'raise-at'"):
        check_comparison({**CONFIG, "task-options": {"rise-at": 3}})
    with pytest.raises(ValueError, match="raise-at must be an integer"):
        check_comparison({**CONFIG, "task-options": {"raise-at": "x"}})
