"""Files of RNA: what is read is what was written; what is wrong is named."""

import numpy as np
import pytest

from maxmargin.formats.rna import (
    RNARecord,
    parse_dot_bracket,
    read_rna,
    write_dot_bracket,
    write_rna,
)

RECORDS = [RNARecord("a_1", "GGGAAACCC", "(((...)))"), RNARecord("b", "GGAACCAAGG", "((..[[))]]")]


def test_dot_brackets_of_random_pairs():
    rng = np.random.default_rng(0)
    for _ in range(50):
        places = rng.permutation(20)[: 2 * rng.integers(0, 9)].reshape(-1, 2)
        pairs = sorted((int(min(own)), int(max(own))) for own in places)
        assert parse_dot_bracket(write_dot_bracket(pairs, 20)) == pairs
    assert parse_dot_bracket("(A.)a") == [(0, 3), (1, 4)]


@pytest.mark.parametrize("kind", ["dbn", "bpseq", "ct"])
def test_what_is_written_is_read(kind):
    some = RECORDS if kind != "bpseq" else RECORDS[:1]
    lines = "".join(write_rna(some, kind)).split("\n")
    found = list(read_rna(lines, "a_1"))
    assert [own.sequence for own in found] == [own.sequence for own in some]
    for own, other in zip(found, some, strict=True):
        assert parse_dot_bracket(own.structure) == parse_dot_bracket(other.structure)
        assert own.name == other.name


def test_fasta_without_structures_and_over_several_lines():
    (found,) = read_rna([">x", "GGG", "AAA", "", "CCC"])
    assert found == ("x", "GGGAAACCC", None)
    assert list(read_rna([])) == []
    # gaps and stars are not brackets
    (found,) = read_rna([">x", "GGG", "A-A*A", "(.....)."])
    assert found == ("x", "GGGA-A*A", "(.....).")


def test_titles_after_tabs():
    (found,) = read_rna(["  2\tdG = -1.0  x", "1 G 0 2 2 1", "2 C 1 0 1 2"])
    assert found == ("dG = -1.0  x", "GC", "()")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (">x\nGGG\n((\n", "line 3: 'x' has 3 bases, but a structure of 2 places; give a dot"),
        (">x\nGGG\n(()\n", "line 3: .* '\\(' at place 1 is not closed. Correct it, or leave"),
        (
            ">x\nGGG\n...\nAAA\n",
            "line 4: more lines after the structure of 'x'; a structure is one",
        ),
        ("GGG\n", "line 1: found 'GGG'"),
        ("1 G 2\n2 C 3\n3 A 0\n", "line 1: 1 is paired with 2"),
        ("1 G 9\n2 C 0\n", "line 1: expected 1, a base and .* partner, 0 to 2; found '1 G 9'"),
        ("3 title\n1 G 0 2 0 1\n", "number of bases and as many lines"),
        ("2 title\n1 G 0 2 2 1\n3 C 1 0 1 2\n", "line 3: expected 2"),
        ("1 G \u00b2\n", "number of bases and as many lines"),
        ("9" * 5000 + "\n1 G 0 2 0 1\n", "line 1: found '999"),
    ],
)
def test_bad_files(text, words):
    with pytest.raises(ValueError, match=words):
        list(read_rna(text.split("\n"), "file"))
