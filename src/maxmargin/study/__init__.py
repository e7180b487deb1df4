"""Studies: solvers side by side at several sizes of the data, each run in a process of its own."""

from maxmargin.study.growth import Growth, growth
from maxmargin.study.plan import Cell, cells_of, check_plan
from maxmargin.study.run import Event, plan_in, run_study
from maxmargin.study.summary import summarise

__all__ = [
    "Cell",
    "Event",
    "Growth",
    "cells_of",
    "check_plan",
    "growth",
    "plan_in",
    "run_study",
    "summarise",
]
