"""Real decisions: slots of electricity within a capacity, and daily delivery routes."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from maxmargin.datasets._files import find_local, read_file

ENERGY, ROUTES = "energy_knapsack", "vrp_daily"
SLOTS = 48
FEATURES = (
    "holiday",
    "day_of_week",
    "week_of_year",
    "month",
    "forecast_wind",
    "forecast_load",
    "forecast_price",
    "co2",
)
#: what errors say of it
_SOURCE = "DESCR in maxmargin.datasets.decisions names it"
ENERGY_DESCR = """\
Half-hours of days of the Irish electricity market, from November 2011, of which some are chosen:
each has a weight of 3, 5 or 7, those that are chosen may weigh 60, 120 or 180 in all, and the sum
of their values, which are known only afterwards, is to be large.

Source: J. Mandi et al., Decision-focused learning: foundations, state of the art, benchmark and
future opportunities, JAIR 2024, https://github.com/PredOpt/predopt-benchmarks ; G. Ifrim,
B. O'Sullivan, H. Simonis, Properties of energy-price forecasts for scheduling, CP 2012.
"""
ROUTES_DESCR = """\
Delivery routes of a small company as they were driven, day by day: customers to serve, vehicles,
and the arcs between places; place 0 is the depot.

Source: J. Mandi, R. Canoy, V. Bucarey, T. Guns, Data driven VRP, CP 2021,
https://github.com/JayMan91/CP2021-Data-Driven-VRP ; R. Canoy, T. Guns, Vehicle routing by learning
from historical solutions, CP 2019.
"""


def load_energy_knapsack(path: str | os.PathLike | None = None) -> Bunch:
    """Load days of half-hours with forecasts, weights, and values known afterwards.

    Parameters
    ----------
    path : str, path or None, default=None
        The file train.csv.gz (or plain), its folder, or the folder that holds
        ``energy_knapsack/``. None means the folder in MAXMARGIN_DATA, then the cache.

    Returns
    -------
    Bunch
        With `X`, (n_days, 48, 8), features of each half-hour; `y`, (n_days, 48), values; `weights`,
        (48,); `capacities`, (60, 120, 180); `days`, (n_days,); `feature_names`; `DESCR`.
    """
    file = find_local(ENERGY, ("train.csv.gz", "train.csv"), path, _SOURCE)
    text = read_file(file).decode("utf-8", errors="replace")
    lines = list(csv.reader(io.StringIO(text)))
    wanted = ["day", *FEATURES, "slot", "weight", "value"]
    if not lines or lines[0] != wanted:
        raise ValueError(f"{file}: the first line must be {','.join(wanted)}.")
    table = np.array([_numbers(file, k, line, len(wanted)) for k, line in enumerate(lines[1:], 2)])
    if len(table) == 0 or len(table) % SLOTS:
        raise ValueError(f"{file}: found {len(table)} lines, expected {SLOTS} for each day.")
    days = table.reshape(-1, SLOTS, len(wanted))
    if (days[:, :, 0] != days[:, :1, 0]).any() or (days[:, :, -3] != np.arange(SLOTS)).any():
        raise ValueError(
            f"{file}: the lines of a day must be its slots 0 to {SLOTS - 1}, in order."
        )
    if (days[:, :, -2] != days[0, :, -2]).any():
        raise ValueError(f"{file}: the weights of slots differ between days.")
    return Bunch(
        X=np.ascontiguousarray(days[:, :, 1:-3]),
        y=np.ascontiguousarray(days[:, :, -1]),
        weights=days[0, :, -2].astype(np.int64),
        capacities=(60, 120, 180),
        days=days[:, 0, 0].astype(np.int64),
        feature_names=list(FEATURES),
        DESCR=ENERGY_DESCR,
    )


def load_vrp_daily(path: str | os.PathLike | None = None) -> Bunch:
    """Load daily delivery routes as they were driven.

    Parameters
    ----------
    path : str, path or None, default=None
        The folder of days000-148.jsonl.gz (or any days*.jsonl.gz) and distance.csv.gz, or the
        folder that holds ``vrp_daily/``. None means the folder in MAXMARGIN_DATA, then the cache.

    Returns
    -------
    Bunch
        With `days`, list of Bunch with `day`, `weekday`, `vehicles`, `capacity`, `stops` and
        `demand` (arrays), `arcs` (m, 2), and `routes`, lists of stops or None if a stop was served
        twice; `distance`, (n_places, n_places); `DESCR`.
    """
    table = find_local(ROUTES, ("distance.csv.gz", "distance.csv"), path, _SOURCE)
    distance = np.loadtxt(io.StringIO(read_file(table).decode()), delimiter=",", ndmin=2)
    if distance.shape[0] != distance.shape[1] or not np.isfinite(distance).all():
        raise ValueError(f"{table}: expected a square table of numbers, found {distance.shape}.")
    files = sorted(table.parent.glob("days*.jsonl*"))
    if not files:
        raise FileNotFoundError(f"no days*.jsonl.gz beside {table}.")
    days = []
    for file in files:
        for number, line in enumerate(read_file(file).decode("utf-8").splitlines(), 1):
            days.append(_day(f"{file}, line {number}", line, len(distance)))
    return Bunch(days=days, distance=distance, DESCR=ROUTES_DESCR)


def _day(where: str, line: str, places: int) -> Bunch:
    try:
        found = json.loads(line)
        own = {name: int(found[name]) for name in ("day", "weekday", "vehicles", "capacity")}
        lists = {name: np.array(found[name], dtype=np.int64) for name in ("stops", "demand")}
        arcs = np.array(found["arcs"], dtype=np.int64).reshape(-1, 2)
        routes = found["routes"]
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"{where}: not a day of routes ({error!r}).") from None
    known = {0, *lists["stops"].tolist()}
    wrong = [v for v in arcs.ravel().tolist() if v not in known or not 0 <= v < places]
    if wrong or len(lists["stops"]) != len(lists["demand"]):
        raise ValueError(f"{where}: arcs or demands are not of its stops.")
    return Bunch(**own, **lists, arcs=arcs, routes=routes)


def _numbers(file: Path, line: int, fields: list[str], count: int) -> list[float]:
    try:
        found = [float(field) for field in fields]
    except ValueError:
        found = []
    if len(found) != count or not np.isfinite(found).all():
        raise ValueError(f"{file}, line {line}: expected {count} numbers, found {fields}.")
    return found


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    places = {"energy_knapsack": "train.csv*", "vrp_daily": "days*.jsonl*"}
    return [name for name, files in places.items() if any((folder / name).glob(files))]
