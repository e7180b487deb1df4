"""Model files: `estimator.save(path)` and `maxmargin.load(path)`.

A model file is a zip archive of `header.json`, which describes the model as a tree, and of its
arrays, each a member `a0.npy`, `a1.npy`, ... that `numpy.load` could read as well. The header has
the format's name and version, the version of the library, the class of the model, the tree, and
the type, size and sha256 of each array; the comment of the archive has the header's own sha256.
Nothing in it depends on the time or the machine: the same model gives the same bytes.

Loading runs no code from the file: there is no pickle, and the names of classes are looked up among
those that the library exports and a few more (`registry.PLACES`), to which only the caller's own
program can add, by `register`. An object is made by its constructor; its options must be as
declared, what it learned must be what its class annotates (see `maxmargin.validation.learned`), and
then its `validate` says whether that goes together.

Not saved: callbacks and engines; the dual point of the last fit, unless `warm_start`; and the
vertices that BCFW remembers, which a warm start finds anew.
"""

from __future__ import annotations

import os
from typing import Any

from maxmargin.exceptions import ModelFileError
from maxmargin.persistence.decode import decode_model
from maxmargin.persistence.encode import Encoder
from maxmargin.persistence.model_file import read_model, write_model
from maxmargin.persistence.registry import register
from maxmargin.validation.learned import Checked

__all__ = ["Savable", "load", "load_as", "register", "save"]


class Savable(Checked):
    """Base class that gives an estimator its method `save`."""

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted estimator to one file, which ``maxmargin.load(path)`` reads.

        The write is atomic: an older file is replaced only when the new one is completely on the
        disk. Callbacks are not saved.

        Parameters
        ----------
        path : str or path
            File to write.
        """
        save(self, path)


def save(model: Any, path: str | os.PathLike, level: int | None = None) -> None:
    """Write a model to a file.

    Parameters
    ----------
    model : object
        A fitted estimator, or an object of a registered class.
    path : str or path
        File to write.
    level : int or None, default=None
        Compression level from 1 (fast) to 9; None means one that suits models.

    Raises
    ------
    TypeError
        If something in the model cannot be saved; the message names it and a remedy.
    """
    encoder = Encoder()
    tree = encoder.encode_object(model, (type(model).__name__,))
    write_model(path, tree, encoder.arrays, level)


def load(path: str | os.PathLike, *, max_bytes: int | None = None, oracle: Any = None) -> Any:
    """Read a model that `save` wrote: the same options, weights and predictions.

    Untrusted files are safe to load and to use: no code is run, every length is checked before
    memory is allocated, all objects are made by their constructors, and what they learned must be
    consistent.

    Parameters
    ----------
    path : str or path
        File to read.
    max_bytes : int or None, default=None
        Largest size of the unpacked model; None means 1 GiB or a hundred times the size of the
        file, whichever is more.
    oracle : callable, Structure or None, default=None
        For a model with ``Structure.from_oracle(function)``, that function again, or the whole
        structure if it has other functions, too: code is not saved.

    Returns
    -------
    object
        The model.

    Raises
    ------
    ModelFileError
        If the file is damaged, forged, of another format or too large.
    OSError
        If the file cannot be opened.
    """
    contents = read_model(path, max_bytes)
    if contents.tree["class"] == "Snapshot":
        raise ModelFileError(
            f"{os.fspath(path)!r} is a checkpoint of a run, not a model: give it to"
            " Checkpoint(path, resume=True) to go on with the run."
        )
    return decode_model(path, contents, oracle)


def load_as(path: str | os.PathLike, name: str) -> Any:
    """Read an object of one registered class, such as a checkpoint; otherwise as `load`.

    Parameters
    ----------
    path : str or path
        File to read.
    name : str
        Registered name of the class.

    Returns
    -------
    object
        The object.
    """
    contents = read_model(path)
    if contents.tree["class"] != name:
        raise ModelFileError(f"{os.fspath(path)!r} is not a {name.lower()}.")
    return decode_model(path, contents)
