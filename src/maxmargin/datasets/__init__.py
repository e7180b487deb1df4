"""Loaders of public data sets and seeded synthetic ones, each returning a scikit-learn Bunch."""

from maxmargin.datasets.alignment import load_alignment
from maxmargin.datasets.conll2000 import load_conll2000
from maxmargin.datasets.decisions import load_energy_knapsack, load_vrp_daily
from maxmargin.datasets.dependencies import load_dependencies
from maxmargin.datasets.disulfides import load_disulfides
from maxmargin.datasets.hansards import load_hansards
from maxmargin.datasets.horses import load_horses
from maxmargin.datasets.isprs import load_isprs
from maxmargin.datasets.letters import load_letters
from maxmargin.datasets.multi_label import make_multilabel
from maxmargin.datasets.puppets import make_puppets
from maxmargin.datasets.rna import load_rna
from maxmargin.datasets.scene_and_yeast import load_scene, load_yeast
from maxmargin.datasets.sequences import make_sequences
from maxmargin.datasets.snake_graphs import snake_graphs
from maxmargin.datasets.snakes import load_snakes, make_snakes
from maxmargin.datasets.string_pairs import load_string_pairs, make_string_pairs
from maxmargin.datasets.treebanks import load_treebank, make_treebank
from maxmargin.datasets.triplets import make_triplets
from maxmargin.datasets.words import make_words

__all__ = [
    "load_alignment",
    "load_conll2000",
    "load_dependencies",
    "load_disulfides",
    "load_energy_knapsack",
    "load_hansards",
    "load_horses",
    "load_isprs",
    "load_letters",
    "load_rna",
    "load_scene",
    "load_string_pairs",
    "load_treebank",
    "load_vrp_daily",
    "load_yeast",
    "make_multilabel",
    "load_snakes",
    "make_puppets",
    "make_sequences",
    "make_snakes",
    "make_string_pairs",
    "make_treebank",
    "make_triplets",
    "make_words",
    "snake_graphs",
]
