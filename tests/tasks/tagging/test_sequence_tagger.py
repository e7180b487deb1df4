"""SequenceTagger: tags of real and made-up text, its reports, its errors, its contract."""

import itertools
import pickle
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from maxmargin.callbacks import EarlyStopping
from maxmargin.datasets import load_conll2000
from maxmargin.exceptions import ConvergenceWarning, InfeasibleError, UncalibratedWarning
from maxmargin.metrics import chunk_f1
from maxmargin.solvers import BCFW
from maxmargin.tasks import SequenceTagger
from maxmargin.tasks.tagging.schemes import forbidden_by_scheme, mark_chunks

NOUNS = {"cat": "NP", "dog": "NP", "roof": "NP"}
VERBS = {"sees": "VP", "likes": "VP"}


def made_up(n, seed=0):
    """Sentences like "the big cat sees a dog ." with BIO tags; words alone decide the tags."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(n):
        words, labels = [], []
        for part in range(rng.integers(1, 4)):
            if part:
                words.append(str(rng.choice(list(VERBS))))
                labels.append("B-VP")
            words.append(str(rng.choice(["the", "a"])))
            labels.append("B-NP")
            for _ in range(rng.integers(0, 3)):
                words.append(str(rng.choice(["big", "old"])))
                labels.append("I-NP")
            words.append(str(rng.choice(list(NOUNS))))
            labels.append("I-NP")
        sentences.append([*words, "."])
        tags.append([*labels, "O"])
    return sentences, tags


def to_iobes(tags):
    out = []
    for own in tags:
        after = [*own[1:], "O"]
        ends = [not nxt.startswith("I-") for nxt in after]
        letter = {("B", True): "S", ("B", False): "B", ("I", True): "E", ("I", False): "I"}
        pairs = zip(own, ends, strict=True)
        out.append([t if t == "O" else letter[t[0], end] + t[1:] for t, end in pairs])
    return out


@pytest.fixture(scope="module")
def corpus():
    return made_up(60)


@pytest.fixture(scope="module")
def tagger(corpus):
    return SequenceTagger().fit(*corpus)


# -- what it learns --------------------------------------------------------------------------------
def test_learns_and_returns_plain_lists(tagger):
    sentences, tags = made_up(20, seed=1)
    predicted = tagger.predict(sentences)
    assert predicted == tags
    assert type(predicted) is list
    assert type(predicted[0]) is list
    assert type(predicted[0][0]) is str
    assert tagger.score(sentences, tags) == 1.0
    assert tagger.chunk_f1(sentences, tags) == 1.0
    assert tagger.predict([]) == []


@pytest.mark.parametrize(
    "token",
    [
        lambda word: (word, word[0]),
        lambda word: {"word": word, "length": len(word) / 10, "first": True},
    ],
    ids=["columns", "dicts"],
)
def test_takes_columns_and_dicts(token):
    sentences, tags = made_up(60)
    sentences = [[token(word) for word in sentence] for sentence in sentences]
    tagger = SequenceTagger().fit(sentences[:40], tags[:40])
    assert tagger.score(sentences[40:], tags[40:]) > 0.95


def test_attributes(tagger):
    assert tagger.classes_.tolist() == ["B-NP", "B-VP", "I-NP", "O"]
    assert tagger.n_features_in_ == tagger.features_.n_features_
    assert len(tagger.coef_) == (tagger.n_features_in_ + 3) * 4 + 16
    assert tagger.result_.gap <= tagger.tol * tagger.result_.primal
    with pytest.raises(AttributeError):
        _ = SequenceTagger().classes_


def test_the_best_taggings(tagger):
    sentences = [["the", "cat"], ["a", "dog", "runs"]]
    found = tagger.predict_k_best(sentences, 3)
    assert [own[0][0] for own in found] == tagger.predict(sentences)
    assert all(isinstance(tags, list) for own in found for tags, _ in own)
    for own in found:
        assert len({tuple(tags) for tags, _ in own}) == 3
        assert [score for _, score in own] == sorted((score for _, score in own), reverse=True)


def test_marginals_by_noise(tagger):
    sentences = [["the", "cat"]]
    exact = tagger.predict_marginals(sentences)[0]
    drawn = tagger.predict_marginals(sentences, method="perturb", n_draws=2000, random_state=1)[0]
    assert drawn.shape == exact.shape
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0)
    assert not np.array_equal(drawn, exact)


def test_marginals_and_margins(tagger):
    sentences, _ = made_up(5, seed=2)
    labels = tagger.classes_
    for p, margin, tags in zip(
        tagger.predict_marginals(sentences),
        tagger.margins(sentences),
        tagger.predict(sentences),
        strict=True,
    ):
        assert p.shape == (len(tags), 4)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert labels[p.argmax(axis=1)].tolist() == tags
        assert margin.shape == (len(tags),)
        assert (margin >= 0).all()


def test_words_never_seen_are_tagged_by_their_context(tagger):
    assert tagger.predict([["the", "zebra", "sees", "a", "dog", "."]]) == [
        ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "O"]
    ]
    assert len(tagger.predict([["Quux", "Xyzzy"]])[0]) == 2


def test_sample_weight_decides_between_contradictions():
    sentences = [["a", "b"], ["a", "b"]]
    tags = [["X", "Y"], ["Y", "X"]]
    for weight in ([5, 1], [1, 5]):
        tagger = SequenceTagger(alpha=0.1).fit(sentences, tags, sample_weight=weight)
        assert tagger.predict([["a", "b"]]) == [tags[int(np.argmax(weight))]]


# -- reports ---------------------------------------------------------------------------------------
def test_report_survives_tags_and_words_never_seen(tagger):
    sentences, tags = made_up(10, seed=3)
    tags[0] = ["B-NEW", *tags[0][1:]]
    tags[2] = ["odd", *tags[2][1:]]
    sentences[1] = ["@@", *sentences[1][1:]]
    report = tagger.report(sentences, tags)
    assert report.labels["B-NEW"].support == 1
    assert report.labels["B-NEW"].recall == 0.0
    assert report.chunks.overall.f1 == chunk_f1(tags, tagger.predict(sentences))
    assert report.accuracy == pytest.approx(tagger.score(sentences, tags))
    assert report.accuracy < 1.0
    lines = str(report).splitlines()
    assert lines[0] == "chunks"
    assert any(line.startswith("B-NEW") for line in lines)


def test_report_of_tags_that_mark_no_chunks():
    sentences = [["the", "cat"], ["cat"]]
    tagger = SequenceTagger().fit(sentences, [["DT", "NN"], ["NN"]])
    report = tagger.report(sentences, [["DT", "NN"], ["B-NP"]])
    assert report.chunks is None
    assert report.labels.token_error == pytest.approx(1 / 3)


def test_top_features_are_named_and_ordered(tagger):
    table = tagger.top_features(n=3, label="O")
    weights = [weight for _, _, weight in table]
    assert {tag for tag, _, _ in table} == {"O"}
    assert weights[:3] == sorted(weights[:3], reverse=True)
    assert weights[3:] == sorted(weights[3:])
    assert min(weights[:3]) > 0 > max(weights[3:])
    names = [*tagger.features_.feature_names_out(), "(bias)", "(first)", "(last)"]
    column = tagger.coef_[: len(names) * 4].reshape(-1, 4)[:, 3]
    assert weights[0] == column.max()
    assert table[0][1] == names[column.argmax()]
    assert len(tagger.top_features(n=2)) == 2 * 2 * 4
    assert str(table).splitlines()[0].split() == ["tag", "feature", "weight"]


def test_top_transitions(tagger):
    table = tagger.top_transitions(n=4)
    labels = tagger.classes_.tolist()
    for left, right, weight in table:
        place = labels.index(left), labels.index(right)
        assert weight == tagger.model_.transition_coef_[place]
    assert table[0][2] == tagger.model_.transition_coef_.max()
    assert table[len(table) - 1][2] < 0


# -- schemes ---------------------------------------------------------------------------------------
def test_bio_forbids_exactly_what_it_should():
    tags = ["B-X", "B-Y", "I-X", "I-Y", "O"]
    found = forbidden_by_scheme(tags)
    assert set(found.pairs) == {
        ("O", "I-X"), ("O", "I-Y"), ("B-X", "I-Y"), ("B-Y", "I-X"), ("I-X", "I-Y"), ("I-Y", "I-X"),
    }  # fmt: skip
    assert (found.first, found.last) == (["I-X", "I-Y"], [])


def test_iobes_allows_exactly_the_spellings_of_chunks():
    tags = ["B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y", "S-Y", "O"]
    found = forbidden_by_scheme(tags)
    chunks = [[f"S-{k}"] for k in "XY"] + [["O"]]
    chunks += [[f"B-{k}", *[f"I-{k}"] * m, f"E-{k}"] for k in "XY" for m in range(3)]
    spelled = {
        tuple(itertools.chain.from_iterable(several))
        for n in (1, 2, 3, 4)
        for several in itertools.product(chunks, repeat=n)
    }
    for y in itertools.product(tags, repeat=4):
        allowed = y[0] not in found.first and y[-1] not in found.last
        allowed = allowed and not any(pair in found.pairs for pair in itertools.pairwise(y))
        assert allowed == (y in spelled), y


@pytest.mark.parametrize(
    "tags, expected",
    [
        (["O", "B-NP"], True),
        (["S-NP"], True),
        (["I-A-B", "O"], True),
        (["O"], False),
        ([], False),
        (["B-NP", "NN"], False),
        (["B-"], False),
        (["DT", "NN"], False),
    ],
)
def test_tags_that_mark_chunks(tags, expected):
    assert mark_chunks(tags) is expected


@pytest.mark.parametrize("spell", [list, to_iobes], ids=["BIO", "IOBES"])
def test_bio_holds_on_noise(spell):
    rng = np.random.default_rng(0)
    sentences, tags = made_up(40)
    tags = spell(tags)
    words = sorted({word for sentence in sentences for word in sentence})
    noise = [list(map(str, rng.choice(words, size=size))) for size in rng.integers(1, 9, size=200)]
    if spell is to_iobes:  # a sentence of one token needs a tag that may stand alone
        assert "O" in tags[0]
    free, bound = (SequenceTagger(bio=bio).fit(sentences, tags) for bio in (False, True))
    rules = forbidden_by_scheme(bound.classes_.tolist())

    def violations(predicted):
        return sum(
            y[0] in rules.first
            or y[-1] in rules.last
            or any(pair in rules.pairs for pair in itertools.pairwise(y))
            for y in predicted
        )

    assert violations(bound.predict(noise)) == 0
    assert violations(free.predict(noise)) > 0, "the noise should tempt a free model"
    assert all(weight != 0 for *_, weight in bound.top_transitions(100))


def test_bio_rejects_truth_that_breaks_it():
    sentences = [["a", "b"], ["a", "b", "c"]]
    with pytest.raises(InfeasibleError, match=r"sentence 1: .*'O I-X'.*O I-X O.*bio=False"):
        SequenceTagger(bio=True).fit(sentences, [["B-X", "I-X"], ["O", "I-X", "O"]])
    with pytest.raises(InfeasibleError, match=r"sentence 0: .*'I-X at the start'"):
        SequenceTagger(bio=True).fit(sentences, [["I-X", "I-X"], ["O", "B-X", "O"]])
    with pytest.raises(InfeasibleError, match=r"sentence 0: .*'B-X at the end'"):
        SequenceTagger(bio=True).fit(sentences, [["O", "B-X"], ["O", "B-X", "E-X"]])
    with pytest.raises(ValueError, match=r"sentence 1: bio=True needs .* found 'NN'"):
        SequenceTagger(bio=True).fit(sentences, [["B-X", "I-X"], ["O", "NN", "O"]])


# -- what else it takes ----------------------------------------------------------------------------
def test_sentences_without_tokens(corpus):
    sentences, tags = made_up(8, seed=3)
    weight = np.arange(1.0, 9.0)
    holes = [[], *sentences[:4], [], *sentences[4:]]
    own, between = [[], *tags[:4], [], *tags[4:]], np.insert(weight, [0, 4], 9.0)
    for options in ({}, {"bio": True}):
        found = SequenceTagger(callbacks=[EarlyStopping(holes, own)], **options)
        full = SequenceTagger(callbacks=[EarlyStopping(sentences, tags)], **options)
        found.fit(holes, own, between), full.fit(sentences, tags, weight)
        np.testing.assert_array_equal(found.coef_, full.coef_)
        assert found.model_.alpha == full.model_.alpha
    assert [own for own in found.predict(holes) if own] == full.predict(sentences)
    assert list(map(len, found.predict(holes))) == list(map(len, holes))
    assert found.predict([[]]) == [[]]
    assert found.predict_k_best([[], ["the"]], 2)[0] == [([], 0.0)]
    assert [p.shape for p in found.predict_marginals([[], ["a", "cat"]])] == [(0, 4), (2, 4)]
    assert [len(own) for own in found.margins([["the"], []])] == [1, 0]
    assert found.score(holes, own, between) == full.score(sentences, tags, weight)
    assert found.report(holes, own).chunks.rows == full.report(sentences, tags).chunks.rows
    tags[0][-1] = "B-VP"  # some errors are needed; own has the same lists
    calibrated = found.calibrate(holes, own).temperature_
    assert calibrated == full.calibrate(sentences, tags).temperature_
    with pytest.raises(ValueError, match=r"sample_weight has shape \(8,\), expected \(10,\)"):
        SequenceTagger().fit(holes, own, weight)


@pytest.mark.parametrize("as_tag", [len, lambda tag: tag == "O", lambda tag: len(tag) / 3])
def test_tags_need_not_be_text(as_tag):
    sentences, tags = made_up(30)
    tags = [[as_tag(tag) for tag in own] for own in tags]
    tagger = SequenceTagger().fit(sentences, (own for own in tags))
    assert tagger.predict(sentences) == tags
    assert tagger.classes_.tolist() == sorted({tag for own in tags for tag in own})
    assert tagger.report(sentences, (own for own in tags)).chunks is None
    assert tagger.top_features(1, label=tags[0][0])
    with pytest.raises(ValueError, match="bio=True needs tags"):
        SequenceTagger(bio=True).fit(sentences, tags)


def test_sentences_as_data_frames():
    pandas = pytest.importorskip("pandas")
    sentences, tags = made_up(20)
    frames = [pandas.DataFrame({"form": own, "first": [w[0] for w in own]}) for own in sentences]
    tagger = SequenceTagger().fit(frames, [pandas.Series(own) for own in tags])
    tuples = [[(word, word[0]) for word in own] for own in sentences]
    assert tagger.predict(frames) == tagger.predict(tuples) == tags
    assert tagger.features_.columns_ == ["form", "first"]
    assert {"form[0]=cat", "first[0]=c"} <= set(tagger.features_.feature_names_out())
    turned = [frame[["first", "form"]] for frame in frames]
    with pytest.raises(ValueError, match=r"sentence 0: its columns are \['first', 'form'\]"):
        tagger.predict(turned)
    with pytest.raises(ValueError, match="sentence 1: its columns are"):
        SequenceTagger().fit([frames[0], *turned[1:]], tags)
    with pytest.raises(TypeError, match="tags are a DataFrame, .* Give the column that holds them"):
        SequenceTagger().fit(frames, [pandas.DataFrame({"tag": own}) for own in tags])


def test_probabilities_of_margins_come_with_a_warning(corpus):
    tagger = SequenceTagger().fit(*corpus)
    with pytest.warns(UncalibratedWarning, match="calibrate.*likelihood"):
        tagger.predict_marginals([["the"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger.calibrate([["the", "cat"]], [["B-NP", "O"]]).predict_marginals([["the"]])
        SequenceTagger(objective="likelihood").fit(*corpus).predict_marginals([["the"]])


# -- bad input -------------------------------------------------------------------------------------
GOOD = [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    "sentences, tags, error, message",
    [
        (GOOD, [["X", "Y"], ["X", "Y"]], ValueError, "sentence 1: 2 tags but 1 tokens"),
        (GOOD, [["X", "Y"]], ValueError, "2 sentences but 1 lists of tags"),
        (GOOD, None, TypeError, "tags is None"),
        (GOOD, "XYX", TypeError, "tags is str"),
        (GOOD, ["XY", "X"], TypeError, "sentence 0: its tags are a str"),
        (GOOD, [["X", "Y"], None], TypeError, "sentence 1: its tags are None"),
        (GOOD, [["X", None], ["X"]], ValueError, "all tags are 'X'"),
        (GOOD, [["X", None], [3]], TypeError, "sentence 1, token 0: the tag 3 is int"),
        (GOOD, [["X", "Y"], [3]], TypeError, "sentence 1, token 0: the tag 3 is int"),
        (GOOD, [["X", "X"], ["X"]], ValueError, "all tags are 'X'"),
        ([["a"], []], [["X"], ["Y"]], ValueError, "sentence 1: 1 tags but 0 tokens"),
        (GOOD, [[("X",), ("Y",)], [("X",)]], TypeError, "sentence 0, token 0: .* is tuple"),
        (GOOD, [[1, 2], ["X"]], TypeError, "sentence 1, token 0: .* expected a number"),
        (GOOD, [[np.nan, "X"], ["X"]], TypeError, "0, token 0: the tag nan .* unknown are None"),
        (GOOD, [[1, float("nan")], [2]], ValueError, "not finite"),
        ([], [], ValueError, "no sentences"),
        (["a b", "c"], [["X", "Y"], ["X"]], ValueError, "sentence 0: expected a list of tokens"),
        ([["a", 3], ["c"]], [["X", "Y"], ["X"]], ValueError, "sentence 0, token 1"),
    ],
)
def test_errors_name_the_sentence(sentences, tags, error, message):
    with pytest.raises(error, match=message):
        SequenceTagger().fit(sentences, tags)


def test_errors_after_fitting(tagger):
    with pytest.raises(ValueError, match="sentence 0: 2 tags but 1 tokens"):
        tagger.score([["a"]], [["O", "O"]])
    with pytest.raises(ValueError, match="1 sentences but 2 lists of tags"):
        tagger.report([["a"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="expected str, found tuple|expected str, found a tuple"):
        tagger.predict([[("a", "DT")]])
    with pytest.raises(ValueError, match="label 'B-PP' is not among the tags learned"):
        tagger.top_features(label="B-PP")


@pytest.mark.parametrize("method", ["predict", "margins", "predict_marginals"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(SequenceTagger(), method)([["a"]])


# -- the contract with scikit-learn ----------------------------------------------------------------
def test_clone_repr_and_params():
    tagger = SequenceTagger(alpha=0.5, solver=BCFW(step="pairwise"), bio=True)
    copied = clone(tagger)
    assert repr(copied) == repr(tagger)
    assert "alpha=0.5" in repr(tagger)
    copied.set_params(solver__step="frank-wolfe", min_count=2)
    assert copied.get_params()["solver__step"] == "frank-wolfe"
    assert tagger.solver.step == "pairwise"


def test_pickle_keeps_predictions_and_leaves_training_data_behind(tagger):
    sentences, _ = made_up(20, seed=5)
    copied = pickle.loads(pickle.dumps(tagger))
    assert copied.predict(sentences) == tagger.predict(sentences)
    np.testing.assert_array_equal(copied.coef_, tagger.coef_)
    assert copied.result_.state is None


def test_grid_search_over_own_and_solver_parameters(corpus):
    grid = {"alpha": [0.1, 100.0], "solver__step": ["frank-wolfe", "corrective"]}
    tagger = SequenceTagger(solver=BCFW(), tol=0.1)
    search = GridSearchCV(tagger, grid, cv=2, scoring=SequenceTagger.chunk_f1).fit(*corpus)
    assert search.best_params_["alpha"] == 0.1
    assert search.best_score_ > 0.95
    assert search.predict(corpus[0][:2]) == corpus[1][:2]


def test_same_seed_same_bits(corpus):
    first, second = (SequenceTagger(random_state=3).fit(*corpus) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    other = SequenceTagger(random_state=4).fit(*corpus)
    assert (other.coef_ != first.coef_).any()


def test_refit_forgets_and_warm_start_goes_on(corpus):
    fresh = SequenceTagger().fit(*corpus)
    used = SequenceTagger().fit(*made_up(10, seed=9)).fit(*corpus)
    np.testing.assert_array_equal(used.coef_, fresh.coef_)
    warm = SequenceTagger(warm_start=True).fit(*corpus)
    again = clone(warm).fit(*corpus).fit(*corpus)
    assert again.result_.n_epochs < warm.result_.n_epochs / 2
    assert again.result_.gap <= again.tol * again.result_.primal


def test_a_failed_fit_leaves_the_old_model_whole(corpus):
    tagger = SequenceTagger().fit(*corpus)
    before = tagger.predict(corpus[0])
    with pytest.raises(ValueError, match="sentences but"):
        tagger.fit([["other", "words"]], [])
    assert tagger.predict(corpus[0]) == before


def test_early_stopping_on_sentences(corpus):
    held_out = made_up(10, seed=7)
    stopping = EarlyStopping(*held_out, metric=chunk_f1, patience=1)
    tagger = SequenceTagger(tol=0.0, callbacks=[stopping]).fit(*corpus)
    scores = [record.validation_score for record in tagger.result_.history]
    assert tagger.chunk_f1(*held_out) == max(scores)
    assert stopping.X is held_out[0], "the user's object is left as it was"
    assert stopping.best_ == max(scores)


def test_one_sentence_alone_and_text_not_split(corpus):
    tagger = SequenceTagger().fit(*corpus)
    with pytest.raises(ValueError, match=r"found str. One sentence alone .*: \[sentence\]"):
        tagger.predict(["the", "cat", "sees"])
    with pytest.raises(ValueError, match=r"found str. Split text into words: .*\.split\(\)"):
        tagger.predict(["the cat sees"])


def test_a_min_count_that_leaves_no_features_is_named(corpus):
    with pytest.raises(ValueError, match="min_count=100000 leaves no features"):
        SequenceTagger(min_count=100_000).fit(*corpus)


def test_tables_need_pandas_and_say_so(corpus, monkeypatch):
    table = SequenceTagger().fit(*corpus).top_transitions(1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        table.to_frame()


# -- real text -------------------------------------------------------------------------------------
def test_chunks_real_text(data_dir):
    data = load_conll2000("train", path=data_dir)
    train, held_out = slice(0, 1200), slice(-400, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        tagger = SequenceTagger(bio=True).fit(data.sentences[train], data.tags[train])
    report = tagger.report(data.sentences[held_out], data.tags[held_out])
    assert report.chunks.overall.f1 > 0.90
    assert report.chunks["NP"].f1 > 0.90
    assert report.accuracy > 0.93
