"""One Python function as an oracle, called in this process or in others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from numbers import Integral
from typing import Any

import numpy as np

from maxmargin.exceptions import InfeasibleError, OracleError
from maxmargin.oracles.base import Call, Layout, Oracle, Wrapper, check_scores
from maxmargin.oracles.outputs import TimedOut, as_vector, split_bound
from maxmargin.oracles.processes.worker_pool import Workers
from maxmargin.validation.options import check_options

#: integers are what solvers are this near to; their usual tolerance is 1e-6 or less
NEAR = 1e-5
#: relative size of what rounding may leave of a score that is 0
TOL = 1e-9


class FunctionOracle(Oracle):
    """The function of a `Structure.from_oracle`."""

    is_expensive = True

    def __init__(self, structure: Any):
        super().__init__(structure)
        self.function = structure.function
        self.is_exact = structure.exact is True
        self.is_bounded = isinstance(structure.exact, str) and structure.exact == "bounded"
        signs = {"nonpositive": -1, "nonnegative": 1}
        self.sign = signs.get(structure.scores, 0) if isinstance(structure.scores, str) else 0
        self.is_probed = structure.probe is not False

    def has(self, ability: str) -> bool:
        if ability == "constraints":
            return self.structure.rows is not None
        return super().has(ability)

    def hint_for(self, ability: str) -> str:
        if ability == "constraints":
            return "Give from_oracle(..., constraints=Program(...))"
        return f"One function has no `{ability}`: write a class that has it"

    def layout_as_ints(self, layout: Layout) -> tuple[int, ...]:
        if isinstance(layout, tuple) and all(isinstance(s, Integral) for s in layout):
            return tuple(map(int, layout))
        return self.structure.n_parts(layout), getattr(layout, "checksum", 0)

    def scratch(self, layout: Layout) -> tuple[int, int]:
        return 0, 0

    def maximize(self, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        theta = check_scores(self.structure, theta, layout)
        with closing(self.maximize_many([Call(theta, layout)])) as outputs:
            z, bound = next(outputs)
        if z is None:
            raise OracleError(f"the oracle took more than {self.structure.time_limit:g} s.")
        return z, float(theta[z != 0] @ z[z != 0]) if np.isnan(bound) else bound

    def maximize_many(self, calls: Sequence[Call]) -> Generator[tuple[Any, float]]:
        self.check()
        for call in calls:
            yield self.read(self._call(self.check_signs(call.theta), call.layout), call.layout)

    def check_signs(self, theta: np.ndarray) -> np.ndarray:
        """A copy of the scores; an OracleError if some have a sign that the function cannot take.

        What rounding leaves of zeros is set to 0.
        """
        if not self.sign:
            return theta.copy()
        wrong = (self.sign * theta < 0) & (theta > -np.inf)
        if wrong.any():
            p = int(np.argmax(np.where(wrong, np.abs(theta), -1.0)))
            if abs(theta[p]) > TOL * (1 + np.abs(theta[theta > -np.inf]).max()):
                side, other = ("negative", "positive")[:: self.sign * -1]
                raise OracleError(
                    f"part {p} has the score {theta[p]:.6g}, but scores={self.structure.scores!r}."
                    " With features that are not negative and no bias, give"
                    f" domain=domains.Signs({side}=range(n_features)) and"
                    f" loss=losses.Hamming(false_{other}=0), whose costs have that sign, too."
                )
        return np.where(wrong, 0.0, theta)

    def check(self) -> None:
        """Raise an error if the options of the structure are wrong."""
        if not callable(self.function):
            raise TypeError(f"the oracle must be a function, found {self.function!r}.")
        check_options(self.structure)

    def _call(self, theta: np.ndarray, layout: Layout) -> Any:
        try:
            return call_function(self.function, theta, layout)
        except InfeasibleError:
            raise
        except Exception as error:
            name = type(error).__name__
            raise OracleError(f"the oracle raised {name}: {error}") from error

    def read(self, output: Any, layout: Layout) -> tuple[np.ndarray, float]:
        """What the function returned as a vector, and the bound that is promised, else NaN."""
        z, bound = split_bound(output)
        structure = self.structure
        listed = structure.encoder == "indices"
        try:
            z = as_vector(z, structure.n_parts(layout), structure.binary, listed)
        except ValueError as error:
            raise OracleError(f"the oracle's answer is not an output: {error}") from error
        if structure.binary:
            z = _rounded(z)
        if not self.is_bounded:
            if bound is not None:
                raise OracleError(
                    'the oracle returned a pair (z, bound): say exact="bounded" if the bound is'
                    " proven."
                )
            return z, np.nan
        if bound is None or np.isnan(bound):
            raise OracleError(
                'exact="bounded" promises pairs (z, upper bound), but the oracle returned'
                f" {'NaN as a bound' if bound is not None else 'no bound'}."
            )
        return z, bound


def _rounded(z: np.ndarray) -> np.ndarray:
    """Zeros and ones where z is as near to them as solvers of integer programs come."""
    whole = np.rint(z)
    return np.where(np.abs(z - whole) <= NEAR, whole, z)


class InProcesses(Wrapper):
    """A function called in processes of its own, several at a time, or ended after a time limit.

    Parameters
    ----------
    inner : FunctionOracle
        The function, in this process.
    workers : Workers
        The processes.
    may_time_out : bool
        Whether training goes on without answers that take too long; otherwise they are errors.
    """

    ends_calls = True

    def __init__(self, inner: FunctionOracle, workers: Workers, may_time_out: bool):
        super().__init__(inner)
        self.workers, self.may_time_out = workers, may_time_out
        self.n_processes = workers.count

    maximize = FunctionOracle.maximize

    def maximize_many(self, calls: Sequence[Call]) -> Generator[tuple[Any, float]]:
        self.inner.check()
        if self.may_time_out and not self.structure.binary:
            raise ValueError(
                'on_timeout="skip" needs binary=True: only parts between 0 and 1 bound what was'
                " not answered."
            )
        tasks = [(self.inner.check_signs(call.theta), call.layout) for call in calls]
        with closing(self.workers.map(tasks)) as found:
            for output, call in zip(found, calls, strict=True):
                late = output is TimedOut
                yield (None, np.inf) if late else self.inner.read(output, call.layout)

    def close(self) -> None:
        self.workers.close()
        self.structure.__dict__.pop("_pool", None)  # which it keeps for calls by hand


def call_function(function: Callable, *args: Any) -> Any:
    """A function with its second argument, the layout, only if it takes one."""
    return function(*args) if len(args) == 1 or takes_layout(function) else function(args[0])


def takes_layout(function: Callable) -> bool:
    """Whether it has a parameter `layout`, or two that must be given."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of some compiled functions nothing is known
        return False
    places = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is p.empty]
    return len(needed) >= 2 or any(p.name == "layout" for p in places[1:])
