"""Which of the tests with many parameters run each time, and which only in `make soak`."""

from collections import Counter

#: beginning of a test's name -> of how many parameters one is taken; the others are long runs
EACH = {
    "tests/contract/test_solvers.py::test_the_certificate_is_true": 2,
    "tests/contract/test_solvers.py::test_the_same_seed_gives_the_same_bits": 3,
    "tests/contract/test_solvers.py::test_an_interrupted_pass_leaves_a_true_certificate": 3,
    "tests/contract/test_solvers.py::test_block_coordinate_variants_reach_the_optimum": 2,
    "tests/contract/test_solvers.py::test_the_dual_never_falls": 2,
    "tests/contract/test_solvers.py::test_weights_belong": 2,
    "tests/contract/test_solvers.py::test_samples_without_weight_change_nothing": 3,
    "tests/contract/test_solvers.py::test_a_state_of_other_data_gives_a_true_certificate": 2,
    "tests/contract/test_inside.py": 2,
    "tests/contract/test_estimators.py::test_a_warm_start_may_change": 3,
    "tests/contract/test_estimators.py": 2,
    "tests/contract/test_features.py": 2,
    "tests/solvers/test_saddle_optimum.py": 3,
    "tests/solvers/test_tilted.py": 3,
    "tests/solvers/test_saddle.py": 3,
    "tests/solvers/test_saddle_runs.py": 3,
    "tests/solvers/test_exponentiated_gradient.py": 2,
    "tests/solvers/test_planes.py": 2,
    "tests/estimators/test_domains.py::test_every_domain_goes_with_every_solver": 2,
    "tests/estimators/test_multiclass_svm.py::test_the_optimum_is_that_of_crammer_and_singer": 3,
    "tests/regression/test_over_relaxation.py": 2,
    "tests/real/test_letters.py::test_solvers_agree_within_certificates": 3,
    "tests/estimators/test_graph_cut_svm.py": 2,
    "tests/test_checkpoints.py::test_cut_after_any_epoch": 3,
}


def is_left_out(item_id: str, seen: Counter) -> bool:
    """Whether a test is one of those that `EACH` leaves to long runs."""
    name, bracket, _ = item_id.partition("[")
    if not bracket:
        return False
    every = next((count for start, count in EACH.items() if name.startswith(start)), 1)
    seen[name] += 1
    return (seen[name] - 1) % every != 0
