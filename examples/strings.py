"""
Align strings
=============

Words of related languages differ by sounds that shift, appear and vanish. From aligned pairs a
model learns what such changes cost. The words here are made; ``load_string_pairs`` reads those of
real languages, and proteins.
"""

# %%
# A string is a sequence of symbols, an alignment a list of matched positions.
from maxmargin.datasets import make_string_pairs
from maxmargin.formats.string_pairs import aligned_rows
from maxmargin.tasks import StringAligner

pairs, alignments = make_string_pairs(150)
others, truth = make_string_pairs(50, random_state=1)
for row in aligned_rows(*pairs[0], alignments[0]):
    print(" ".join(row))

# %%
# All alignments of a pair have a probability; its parameters are learned, with a certificate.
aligner = StringAligner().fit(pairs, alignments)
print(aligner.result_.certificate())
scores = aligner.report(others, truth)
print(f"exactly right {scores.exact:.1%}, F1 of matches {scores.pairs_f1:.1%}")

# %%
# Which word of the other language is it? The learned distance finds it.
words = [b for _, b in others]
found = sum(min(words, key=lambda b: aligner.distance(a, b)) == own for a, own in others[:20])
print(f"{found} of 20 words find their partner among {len(words)}")
