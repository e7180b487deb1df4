"""SequenceTagger(segments=True): chunks as segments, their features, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin
from maxmargin import metrics
from maxmargin.callbacks import EarlyStopping
from maxmargin.exceptions import MissingAbilityError
from maxmargin.tasks import SequenceTagger
from maxmargin.tasks.tagging.chunks import SegmentTexts, list_segments, position_tags, write_tags

PLACES = ["new york", "los angeles", "rome", "san jose del monte"]
PEOPLE = ["ann lee", "bob", "jose maria lee"]


def make(n, seed):
    """Sentences with names of places and of people."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(n):
        words, own = [], []
        for kind, names in (("PER", PEOPLE), ("", ["went to", "likes"]), ("LOC", PLACES)):
            name = str(rng.choice(names)).split()
            words += name
            own += [f"B-{kind}"] + [f"I-{kind}"] * (len(name) - 1) if kind else ["O"] * len(name)
        sentences.append(
            [(word, "N" if tag != "O" else "V") for word, tag in zip(words, own, strict=True)]
        )
        tags.append(own)
    return sentences, tags


SENTENCES, TAGS = make(30, 0)
OTHERS, OTHER_TAGS = make(20, 1)


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(segments=True, gazetteer={"places": ["New York", "Rome"]}).fit(
        SENTENCES, TAGS
    )


def test_chunks_are_found(tagger, tmp_path):
    assert tagger.chunk_f1(OTHERS, OTHER_TAGS) > 0.9
    assert tagger.score(OTHERS, OTHER_TAGS) > 0.9
    found = tagger.predict([*OTHERS, []])
    assert found[-1] == []
    assert [len(own) for own in found[:-1]] == list(map(len, OTHERS))
    assert tagger.classes_.tolist() == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
    assert tagger.model_.max_length == 4
    tagger.save(tmp_path / "model.mm")
    assert maxmargin.load(tmp_path / "model.mm").predict(OTHERS) == found[:-1]
    assert np.array_equal(clone(tagger).fit(SENTENCES, TAGS).coef_, tagger.coef_)
    (best,) = tagger.predict_k_best(OTHERS[:1], 2)
    assert best[0][0] == found[0]
    assert len(tagger.top_transitions().rows) > 0
    assert tagger.report(OTHERS, OTHER_TAGS).chunks is not None


def test_probabilities_are_of_tags(tagger):
    model = clone(tagger).set_params(objective="likelihood", alpha=0.01)
    p = model.fit([*SENTENCES, []], [*TAGS, []]).predict_marginals([*OTHERS[:3], []])
    assert p[3].shape == (0, 5)
    for own, tags in zip(p[:3], OTHER_TAGS[:3], strict=True):
        assert own.sum(axis=1) == pytest.approx(np.ones(len(tags)))
        assert model.classes_[own.argmax(axis=1)].tolist() == tags
    with pytest.warns(UserWarning, match="every held-out variable is predicted rightly"):
        assert model.calibrate(OTHERS, OTHER_TAGS).temperature_ > 0


def test_held_out_sentences_stop_training():
    stopping = EarlyStopping([*OTHERS, []], [*OTHER_TAGS, []], patience=1)
    SequenceTagger(segments=True, callbacks=[stopping], tol=0.0).fit(SENTENCES, TAGS)
    assert stopping.best_ > 0.8


def test_schemes_become_segments():
    segments = [(0, 2, "NP"), (2, 3, "NP"), (3, 4, "O"), (4, 5, "VP")]
    for tags in (
        ["B-NP", "I-NP", "B-NP", "O", "B-VP"],
        ["I-NP", "I-NP", "B-NP", "O", "I-VP"],
        ["B-NP", "E-NP", "S-NP", "O", "S-VP"],
    ):
        assert list_segments(0, tags) == segments
    assert write_tags(segments) == ["B-NP", "I-NP", "B-NP", "O", "B-VP"]
    assert list_segments(0, ["O", "O"]) == [(0, 1, "O"), (1, 2, "O")]
    assert list_segments(0, []) == []
    assert position_tags(["NP", "O"]) == ["B-NP", "O", "I-NP", "O"]


def test_segments_have_texts_and_lists(tagger):
    texts = SegmentTexts(["0|a b", "1|a", "a|1|<|x"], {"one": ["A  B", "b"], "two": ["b"]}, 2)
    positions = tagger._rows(SENTENCES[:1])._replace(lengths=np.array([3]))
    rows = texts.make_rows(positions, [["a", "B", "x"]]).segments.matrix.toarray()
    assert rows.reshape(3, 2, 5).tolist() == [
        [[0, 0, 0, 0, 0], [1, 0, 0, 1, 0]],
        [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]],
        [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
    ]


@pytest.mark.parametrize(
    ("options", "sentences", "tags", "words"),
    [
        ({}, [["a", "b"]], [["N", "O"]], "sentence 0: segments=True needs tags O, B-X"),
        ({}, [["a", "b"]], [["B-O", "O"]], "found 'B-O'"),
        ({}, [[{"w": "a"}, {"w": "b"}]], [["B-X", "O"]], "needs tokens that are str or tuples"),
        ({"max_length": 1}, [["a", "b", "c"]], [["B-X", "I-X", "O"]], "max_length=1 allows 1 to 1"),
        (
            {"gazetteer": {"a": "b c"}},
            [["a", "b"]],
            [["B-X", "O"]],
            "must be a mapping of strings to a sequence of strings",
        ),
        ({"gazetteer": {"a": 3}}, [["a", "b"]], [["B-X", "O"]], "gazetteer"),
    ],
)
def test_what_cannot_be_segments_is_refused(options, sentences, tags, words):
    with pytest.raises(ValueError, match=words):
        SequenceTagger(segments=True, **options).fit(sentences, tags)


def test_what_chains_alone_can_do(tagger):
    for call in (tagger.margins, lambda own: tagger.predict_restricted(own, [None] * len(own))):
        with pytest.raises(MissingAbilityError, match="for chains of tags only"):
            call(OTHERS)


def test_forged_models_are_refused(tagger):
    changed = clone(tagger)
    changed.__dict__.update(tagger.__dict__ | {"texts_": tagger.texts_[1:]})
    with pytest.raises(ValueError, match="differ in number of features"):
        changed.validate()


def to_scheme(tags, scheme):
    return [write_tags(list_segments(0, own), scheme) for own in tags]


@pytest.mark.parametrize("scheme", ["BIO", "IOBES", "IOB1"])
def test_predictions_are_in_the_scheme_of_the_training_data(scheme, tmp_path):
    tags, truth = to_scheme(TAGS, scheme), to_scheme(OTHER_TAGS, scheme)
    model = SequenceTagger(segments=True).fit(SENTENCES, tags)
    assert model.scheme_ == scheme
    found = model.predict(OTHERS)
    assert {tag for own in found for tag in own} <= set(model.classes_.tolist())
    assert metrics.token_error(truth, found) < 0.1
    assert model.score(OTHERS, truth) == model.score(OTHERS, OTHER_TAGS) > 0.9
    assert model.report(OTHERS, truth).labels.token_error < 0.1
    model.save(tmp_path / "model.mm")
    assert maxmargin.load(tmp_path / "model.mm").predict(OTHERS) == found
    if scheme != "BIO":
        with pytest.raises(MissingAbilityError, match=f"have {scheme} tags"):
            model.predict_marginals(OTHERS)


def test_tags_of_no_one_scheme_are_told():
    with pytest.warns(UserWarning, match="those predicted are BIO"):
        model = SequenceTagger(segments=True).fit([["a", "b", "c"]] * 2, [["I-X", "B-Y", "O"]] * 2)
    assert model.predict([["a", "b", "c"]]) == [["B-X", "B-Y", "O"]]
    tags = [["B-X", "I-X", "O"], ["B-X", "O", "I-Y"], ["B-X", "B-Y", "O"]]
    words = "BIO, but 1 of 3 not: in sentence 1, token 2 has the tag 'I-Y', where BIO has 'B-Y'"
    with pytest.warns(UserWarning, match=words):
        SequenceTagger(segments=True).fit([["a", "b", "c"]] * 3, tags)


def test_unknown_tags_of_segments_are_refused():
    with pytest.raises(
        TypeError, match=r"sentence 0, token 1: .* All tags must be known here: leave"
    ):
        SequenceTagger(segments=True).fit([["a", "b"]], [["B-X", None]])


def test_lists_of_phrases_need_segments():
    with pytest.raises(ValueError, match="gazetteer needs segments=True"):
        SequenceTagger(gazetteer={"places": ["rome"]}).fit(SENTENCES, TAGS)


def test_lists_of_phrases_are_part_of_the_model(tmp_path):
    places = {"places": ["New York", "Rome"]}
    model = SequenceTagger(segments=True, gazetteer=places).fit(SENTENCES, TAGS)
    before = model.predict_k_best(OTHERS, 1)
    places["places"][:] = ["went to", "likes"]
    places["people"] = ["ann lee"]
    assert model.predict_k_best(OTHERS, 1) == before
    model.save(tmp_path / "model.mm")
    assert maxmargin.load(tmp_path / "model.mm").predict_k_best(OTHERS, 1) == before
    places["places"][:], _ = ["New York", "Rome"], places.pop("people")
    old = clone(model)  # as files were before
    old.__dict__.update(model.__dict__)
    del old.gazetteer_, old.scheme_
    old.validate()
    old.save(tmp_path / "old.mm")
    assert maxmargin.load(tmp_path / "old.mm").predict_k_best(OTHERS, 1) == before
