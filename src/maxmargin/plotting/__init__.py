"""Pictures of runs and of predictions, in scikit-learn's Display manner.

A display holds the data of a picture; `plot` draws it, on axes of yours or on new ones, and sets
`ax_` and `figure_`. Its class methods (`from_estimator`, `from_result`, `from_predictions`,
`from_folder`) make one and draw it. Matplotlib is imported when something is drawn, not before.

Colours are those of Okabe and Ito, which readers with any common colour vision tell apart; lines
differ in style too, marks in shape, and wrong letters in weight, so that nothing is said by colour
alone.
"""

from maxmargin.plotting.alignment import AlignmentDisplay
from maxmargin.plotting.comparison import ComparisonDisplay
from maxmargin.plotting.constituents import ConstituencyDisplay
from maxmargin.plotting.convergence import ConvergenceDisplay
from maxmargin.plotting.curves import CurvesDisplay
from maxmargin.plotting.dependencies import DependencyDisplay
from maxmargin.plotting.folding import FoldingDisplay
from maxmargin.plotting.letter_images import WordsDisplay
from maxmargin.plotting.one_path import PathDisplay
from maxmargin.plotting.reliability import ReliabilityDisplay
from maxmargin.plotting.segmentation import SegmentationDisplay
from maxmargin.plotting.several_paths import PathsDisplay
from maxmargin.plotting.style import BLUE, GREEN, GREY, HINT, ORANGE, PURPLE, has_matplotlib

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "HINT",
    "ORANGE",
    "PURPLE",
    "AlignmentDisplay",
    "ConstituencyDisplay",
    "ConvergenceDisplay",
    "DependencyDisplay",
    "FoldingDisplay",
    "ReliabilityDisplay",
    "CurvesDisplay",
    "PathDisplay",
    "PathsDisplay",
    "SegmentationDisplay",
    "ComparisonDisplay",
    "WordsDisplay",
    "has_matplotlib",
]
