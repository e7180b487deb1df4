"""load_energy_knapsack and load_vrp_daily: small files, errors named by line, the real counts."""

import gzip
import json

import numpy as np
import pytest

from maxmargin.datasets import _files, load_energy_knapsack, load_vrp_daily

HEAD = "day,holiday,day_of_week,week_of_year,month,forecast_wind,forecast_load,forecast_price,co2"
HEAD += ",slot,weight,value\n"
DAY = {
    "day": 0, "weekday": 2, "vehicles": 1, "capacity": 9, "stops": [2, 1], "demand": [3, 4],
    "arcs": [[0, 2], [2, 1], [1, 0]], "routes": [[2, 1]],
}  # fmt: skip


def lines(day):
    return "".join(f"{day},0,1,44,11,3.5,30,{slot},6,{slot},5,{10 * slot}\n" for slot in range(48))


@pytest.mark.parametrize("packed", [False, True])
def test_days_of_slots(tmp_path, packed):
    raw = (HEAD + lines(3) + lines(4)).encode()
    file = tmp_path / ("train.csv.gz" if packed else "train.csv")
    file.write_bytes(gzip.compress(raw) if packed else raw)
    found = load_energy_knapsack(tmp_path)
    assert found.X.shape == (2, 48, 8)
    assert found.feature_names[6] == "forecast_price"
    np.testing.assert_array_equal(found.X[1, :, 6], np.arange(48))
    np.testing.assert_array_equal(found.y[0], 10 * np.arange(48))
    assert found.weights.tolist() == [5] * 48
    assert found.days.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the first line must be day,holiday"),
        (HEAD, "found 0 lines, expected 48 for each day"),
        (HEAD + lines(0)[:-5], "line 49: expected 12 numbers"),
        (HEAD + lines(0) + "1,2\n", "line 50: expected 12 numbers"),
        (HEAD + lines(0).replace("3.5", "nan", 1), "line 2: expected 12 numbers"),
        (HEAD + lines(0).replace(",7,5,70", ",8,5,70"), "slots 0 to 47, in order"),
        (HEAD + lines(0) + lines(1).replace(",7,5,70", ",7,3,70"), "weights of slots differ"),
    ],
)
def test_damaged_days_of_slots_are_named(tmp_path, text, words):
    (tmp_path / "train.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        load_energy_knapsack(tmp_path)


def write_routes(folder, *days, distance="0,1,2\n1,0,3\n2,3,0\n"):
    (folder / "distance.csv").write_text(distance)
    text = "".join(day if isinstance(day, str) else json.dumps(day) + "\n" for day in days)
    (folder / "days0.jsonl").write_text(text)


def test_days_of_routes(tmp_path):
    write_routes(tmp_path, DAY, DAY | {"day": 1, "routes": None})
    found = load_vrp_daily(tmp_path)
    assert found.distance.shape == (3, 3)
    assert [day.day for day in found.days] == [0, 1]
    assert found.days[0].arcs.tolist() == DAY["arcs"]
    assert found.days[0].routes == [[2, 1]]
    assert found.days[1].routes is None


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("no json\n", "days0.jsonl, line 1: not a day of routes"),
        ({"day": 1}, "not a day of routes"),
        (DAY | {"arcs": [[0, 5]]}, "arcs or demands are not of its stops"),
        (DAY | {"demand": [1]}, "arcs or demands are not of its stops"),
    ],
)
def test_damaged_days_of_routes_are_named(tmp_path, day, words):
    write_routes(tmp_path, day)
    with pytest.raises(ValueError, match=words):
        load_vrp_daily(tmp_path)


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "cache_folder", lambda: tmp_path)
    monkeypatch.delenv("MAXMARGIN_DATA", raising=False)
    for load in (load_energy_knapsack, load_vrp_daily):
        with pytest.raises(FileNotFoundError, match="MAXMARGIN_DATA"):
            load()
    (tmp_path / "distance.csv").write_text("0\n")
    with pytest.raises(FileNotFoundError, match="no days"):
        load_vrp_daily(tmp_path)


def test_the_real_files_have_their_counts(data_dir):
    energy = load_energy_knapsack(data_dir)
    assert energy.X.shape == (552, 48, 8)
    assert energy.weights.sum() == 240
    assert energy.y.mean() == pytest.approx(321.7, abs=0.05)
    routes = load_vrp_daily(data_dir)
    assert len(routes.days) == 149
    assert sum(len(day.arcs) for day in routes.days) == 6145
    assert sum(day.routes is not None for day in routes.days) == 50
    assert routes.distance.shape == (74, 74)
