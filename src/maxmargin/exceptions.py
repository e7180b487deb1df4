"""Errors and warnings of their own kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from sklearn.exceptions import ConvergenceWarning


class OptionError(ValueError, TypeError):
    """An option of an estimator, structure or solver has the wrong type or is out of range."""


class MissingAbilityError(TypeError):
    """A solver or a method needs an ability that the structure lacks; the message names it."""


class FitInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a fit, which keeps the best weights so far; the message has their gap."""


class TimeIsUp(BaseException):
    """Ends a run between two calls of an oracle; nobody but the run sees it."""


class SampleError(ValueError):
    """Something is wrong with one sample; the message says which one.

    Attributes
    ----------
    noun : str
        What the message calls samples, such as "sample", "image" or "sentence".
    held_out : bool
        Whether samples to stop training by are meant, not those to learn from.
    parts : tuple of str or int
        The message, with numbers of samples in place of their names.
    """

    parts: tuple[str | int, ...] = ()
    noun: str = "sample"
    held_out: bool = False

    @classmethod
    def of(cls, *parts: str | int, noun: str = "sample", held_out: bool = False) -> Self:
        """Make an error whose message is joined from texts and numbers of samples.

        Parameters
        ----------
        *parts : str or int
            Texts, and numbers of samples, as in ``SampleError.of(3, ": x has no rows.")``.
        noun : str, default="sample"
            What stands before each number.
        held_out : bool, default=False
            Whether samples to stop training by are meant.

        Returns
        -------
        SampleError
            The error, of the class that this was called on.
        """
        error = cls("")
        error.parts = tuple(part if isinstance(part, str) else int(part) for part in parts)
        error.noun, error.held_out = noun, held_out
        error.args = (error.told(),)
        return error

    def renumbered(self, numbers: Sequence[int], noun: str | None = None) -> Self:
        """Tell the same of samples with other numbers.

        Parameters
        ----------
        numbers : sequence of int
            New number of each sample.
        noun : str or None, default=None
            What stands before each number; None means the same as before.

        Returns
        -------
        SampleError
            A new error of the same class.
        """
        parts = (part if isinstance(part, str) else numbers[part] for part in self.parts)
        noun = self.noun if noun is None else noun
        return type(self).of(*parts, noun=noun, held_out=self.held_out)

    @property
    def index(self) -> int | None:
        """Number of the sample; None if the message names none."""
        return next((part for part in self.parts if isinstance(part, int)), None)

    @property
    def problem(self) -> str:
        """The message without the noun and number that it begins with."""
        begin = f"{'held-out ' * self.held_out}{self.noun} {self.index}"
        return str(self).removeprefix(begin).removeprefix(":").lstrip()

    def told(self, names: Sequence[str] = ()) -> str:
        """Tell the message with names in place of numbers.

        Parameters
        ----------
        names : sequence of str
            Name of each sample; samples beyond these keep their numbers.

        Returns
        -------
        str
            The message.
        """

        def shown(part: str | int) -> str:
            if isinstance(part, str):
                return part
            return names[part] if part < len(names) else f"{self.noun} {part}"

        unnamed = self.index is None or self.index >= len(names)
        return "held-out " * (self.held_out and unnamed) + "".join(map(shown, self.parts))


class InfeasibleError(SampleError):
    """Every output of a sample is forbidden, or its true output is."""


class OracleError(SampleError):
    """An oracle in Python raised an error, timed out, or gave an answer that cannot be right."""


class ModelFileError(ValueError):
    """A file is not a model of maxmargin, is damaged, or has a version that cannot be read."""


class UncalibratedWarning(UserWarning):
    """Probabilities were requested from a model that was not trained to have any."""


__all__ = [
    "ConvergenceWarning",
    "FitInterrupted",
    "InfeasibleError",
    "MissingAbilityError",
    "ModelFileError",
    "OptionError",
    "OracleError",
    "SampleError",
    "UncalibratedWarning",
]
