"""Pictures of runs and of predictions. Matplotlib is imported when something is drawn, not before.

Colours are those of Okabe and Ito, which readers with any common colour vision tell apart; lines
differ in style too, marks in shape, and wrong letters in weight, so that nothing is said by colour
alone.
"""

from maxmargin.plotting.alignment import plot_alignment
from maxmargin.plotting.convergence import ConvergenceDisplay
from maxmargin.plotting.style import BLUE, GREEN, GREY, HINT, ORANGE, PURPLE, has_matplotlib
from maxmargin.plotting.words import plot_words

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "HINT",
    "ORANGE",
    "PURPLE",
    "ConvergenceDisplay",
    "has_matplotlib",
    "plot_alignment",
    "plot_words",
]
