"""TokenFeatures against plain Python, and its contract with users and scikit-learn."""

import gzip
import itertools
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from maxmargin.tasks.tagging import token_templates
from maxmargin.tasks.tagging.token_features import TokenFeatures
from maxmargin.validation.samples import Rows

CHUNKING = [
    *(f"word[{i}]" for i in range(-2, 3)),
    *("word[-1]|word[0]", "word[0]|word[1]"),
    *(f"col2[{i}]" for i in range(-2, 3)),
    *("col2[-2]|col2[-1]", "col2[-1]|col2[0]", "col2[0]|col2[1]", "col2[1]|col2[2]"),
    *("col2[-2]|col2[-1]|col2[0]", "col2[-1]|col2[0]|col2[1]", "col2[0]|col2[1]|col2[2]"),
]
TAGGING = [
    *(f"lower(word[{i}])" for i in (-2, -1)),
    *("lower", "lower(word[1])", "lower(word[2])", "word[0]"),
    *(f"{side}{n}" for side in ("prefix", "suffix") for n in range(1, 5)),
    *("shape", "word[-1]|word[0]", "word[0]|word[1]"),
]
DEFAULT = [
    *TAGGING,
    *(f"col2[{i}]" for i in range(-2, 3)),
    *("col2[-2]|col2[-1]", "col2[-1]|col2[0]", "col2[0]|col2[1]", "col2[1]|col2[2]"),
    *("col2[-2]|col2[-1]|col2[0]", "col2[-1]|col2[0]|col2[1]", "col2[0]|col2[1]|col2[2]"),
    "word[0]|col2[0]",
]
ODD = [
    "word[0]|suffix2(lower(col2[-3]))|shape(word[4])",
    "col2[1]|word[1]|col2[-1]|word[-1]|col2[0]|word[0]",
    "prefix1(col2[2])",
]


def naive_shape(value):
    signs = [
        ("X" if c.isupper() else "x") if c.isalpha() else "d" if c.isdigit() else "-" * (c == "-")
        for c in value
    ]
    return "".join(key for key, _ in itertools.groupby(sign or "." for sign in signs))


def naive_value(sentence, t, term):
    """Value of a term such as suffix2(lower(col2[-3])) at token t of a sentence of tuples."""
    *functions, inner = term.replace(")", "").split("(")
    place = re.fullmatch(r"(word|col2)\[(-?\d+)\]", inner)
    if place is None:
        functions, place = [*functions, inner], ("", "word", 0)
    at = t + int(place[2])
    if at < 0:
        return f"BOS{at}"
    if at >= len(sentence):
        return f"EOS+{at - len(sentence) + 1}"
    value = sentence[at][("word", "col2").index(place[1])]
    for name in reversed(functions):
        if name == "lower":
            value = value.lower()
        elif name == "shape":
            value = naive_shape(value)
        else:
            size = int(name[6:])
            value = (
                value[:size] if name.startswith("prefix") else value[max(len(value) - size, 0) :]
            )
    return value


def naive_rows(sentences, templates):
    """Names of the features of all tokens, in order."""
    return [
        {
            f"{template}=" + "|".join(naive_value(s, t, term) for term in template.split("|"))
            for template in templates
        }
        for s in sentences
        for t in range(len(s))
    ]


def named_rows(rows, names):
    assert isinstance(rows, Rows)
    assert isinstance(rows.matrix, csr_array)
    matrix = rows.matrix
    assert matrix.shape == (rows.lengths.sum(), len(names))
    assert matrix.data.dtype == np.float64
    assert matrix.indices.dtype == np.int32
    fresh = matrix.__class__((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    assert fresh.has_canonical_format
    assert fresh.has_sorted_indices
    pairs = [zip(names[row.indices], row.data.tolist(), strict=True) for row in matrix]
    return [dict(row) for row in pairs]


def counts_of(rows):
    names = list(itertools.chain.from_iterable(rows))
    return {name: names.count(name) for name in set(names)}


words = st.text(alphabet="aAbß1-.,é", max_size=5)
corpora = st.lists(
    st.lists(st.tuples(words, st.sampled_from(["N", "V", "DT"])), min_size=1, max_size=5),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(
    train=corpora, test=corpora, count=st.integers(1, 3), max_key=st.sampled_from([1, 500, 2**62])
)
@pytest.mark.parametrize("templates", [None, CHUNKING, ODD], ids=["default", "chunking", "odd"])
def test_equals_plain_python(templates, train, test, count, max_key):
    features = TokenFeatures(templates, min_count=count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_templates, "MAX_KEY", max_key)
        fitted = features.fit_transform(train)
    names = features.feature_names_out()
    expected = naive_rows(train, templates or DEFAULT)
    known = {name for name, found in counts_of(expected).items() if found >= count}
    assert set(names) == known
    assert len(names) == features.n_features_ == len(known)
    for rows, corpus in [(fitted, train), (features.transform(train), train),
                         (features.transform(test), test)]:  # fmt: skip
        assert rows.lengths.tolist() == [len(s) for s in corpus]
        for row, naive in zip(
            named_rows(rows, names), naive_rows(corpus, templates or DEFAULT), strict=True
        ):
            assert row == dict.fromkeys(naive & known, 1.0)


@settings(max_examples=30, deadline=None)
@given(corpora)
def test_words_equal_one_column_and_plain_python(corpus):
    plain = [[token[0] for token in s] for s in corpus]
    features = TokenFeatures()
    rows = features.fit_transform(plain)
    names = features.feature_names_out()
    assert [set(row) for row in named_rows(rows, names)] == naive_rows(corpus, TAGGING)
    assert (features.kind_, features.n_columns_, len(features.templates_)) == ("str", 1, 17)
    columns = TokenFeatures().fit([[[word] for word in s] for s in plain])
    assert columns.feature_names_out().tolist() == names.tolist()


def test_default_has_all_of_the_word_whatever_the_columns():
    one, two, three = (TokenFeatures().fit([[("a", "X", "l")[:n]]]) for n in (1, 2, 3))
    assert two.templates_[: len(one.templates_)] == one.templates_
    assert three.templates_[: len(two.templates_)] == two.templates_
    assert len(three.templates_) - len(two.templates_) == len(two.templates_) - len(one.templates_)
    assert {name.split("=")[0] for name in two.feature_names_out()} == set(DEFAULT)


def test_conjunctions_beyond_64_bits():
    rng = np.random.default_rng(0)
    corpus = [[(f"w{i}", f"p{i}") for i in rng.integers(0, 3000, size=40)] for _ in range(200)]
    term = "|".join(f"{c}[{i}]" for i in range(-2, 3) for c in (0, 1))
    features = TokenFeatures([term])
    rows = features.fit_transform(corpus)
    label = term.replace("0[", "word[").replace("1[", "col2[")
    expected = [row.pop() for row in naive_rows(corpus, [label])]
    assert features.index_.indexes[0].steps, "the product of the radices should need a step"
    assert features.feature_names_out()[rows.matrix.indices].tolist() == expected
    assert (features.transform(corpus).matrix != rows.matrix).nnz == 0
    assert features.transform([corpus[0][::-1]]).matrix.nnz == 0


def test_unseen_values_are_dropped_but_their_parts_are_known():
    features = TokenFeatures(["0[0]", "suffix3(0[0])", "0[-1]|0[0]"]).fit([["going", "on"]])
    (row,) = named_rows(features.transform([["sing"]]), features.feature_names_out())
    assert row == {"suffix3=ing": 1.0}


def test_boundaries_are_not_words():
    features = TokenFeatures(["0[-2]", "lower(0[1])"])
    rows = features.fit_transform([["BOS-2", "a", "EOS+1"]])
    names = features.feature_names_out()
    assert [names[row.indices].tolist() for row in rows.matrix] == [
        ["word[-2]=BOS-2", "lower(word[1])=a"],
        ["word[-2]=BOS-1", "lower(word[1])=eos+1"],
        ["word[-2]=BOS-2", "lower(word[1])=EOS+1"],
    ]
    assert rows.matrix.indices[0] != rows.matrix.indices[4]


def test_names_of_columns():
    sentence = [("of", "IN", "O"), ("the", "DT", "B")]
    features = TokenFeatures(["0[-1]|0[0]", "1[0]", " shape( 2[1] ) ", "2[0]"]).fit([sentence])
    found = {"word[-1]|word[0]=of|the", "col2[0]=IN", "shape(col3[1])=X", "col3[0]=O"}
    assert found <= set(features.feature_names_out())
    own = TokenFeatures(["form[0]|tag[1]"], columns=["form", "lemma", "tag"]).fit([sentence])
    assert own.feature_names_out().tolist() == ["form[0]|tag[1]=of|B", "form[0]|tag[1]=the|EOS+1"]
    again = TokenFeatures([n.split("=")[0] for n in ("suffix3=ing", "word[-1]|col2[0]=a|b")])
    assert {"suffix3=of", "word[-1]|col2[0]=of|DT"} <= set(
        again.fit([sentence]).feature_names_out()
    )


@pytest.mark.parametrize(
    ("value", "shape"),
    [("Coca-Cola", "Xx-Xx"), ("1,234", "d.d"), ("U.S.", "X.X."), ("B-52s", "X-dx"), ("", ""),
     ("--", "-"), ("日本", "x"), ("ÉTÉ", "X")],
)  # fmt: skip
def test_word_shape(value, shape):
    assert token_templates.word_shape(value) == shape == naive_shape(value)


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        (["0[0"], r"template '0\[0': cannot read '0\[0'; a term is like"),
        (["0[0]|"], "cannot read ''"),
        (["2[0]"], "there is no column 2; columns are numbered from 0 and tokens have 2"),
        (["lemma[0]"], "no column is called 'lemma'; there are word, col2"),
        (["upper(0[0])"], "there is no function 'upper'; there are lower, shape"),
        (["suffix0(0[0])"], "no function 'suffix0'"),
        (["suffix"], "no function 'suffix'"),
        (["0[100]"], "offset 100 is not between -99 and 99"),
        (["lower(" * 3000 + "0[0]" + ")" * 3000], "more than 20 functions are nested"),
        (["0[0]", "word[0]"], r"template 'word\[0\]' repeats '0\[0\]'"),
        ([3], r"templates=\[3\] must be a sequence of strings"),
        ([], "non-empty list"),
        ("0[0]", "non-empty list"),
    ],
)
def test_errors_of_templates(templates, message):
    with pytest.raises(ValueError, match=message):
        TokenFeatures(templates).fit([[("a", "b")]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_count": 0}, "min_count=0 must be an integer at least 1"),
        ({"min_count": 1.5}, "min_count=1.5 must be an integer"),
        ({"columns": ["a"]}, "columns must be 2 different names"),
        ({"columns": ["a", "a"]}, "columns must be 2 different names"),
        ({"columns": ["a", "b|"]}, "a column's name is"),
    ],
)
def test_errors_of_other_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        TokenFeatures(**params).fit([[("a", "b")]])


PAIR = ("a", "b")


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([[PAIR], [PAIR, "a"]], "sentence 1, token 1: expected a tuple of 2 columns, found str"),
        (
            [[PAIR, ("a",)]],
            "sentence 0, token 1: expected a tuple of 2 columns, found a tuple of 1",
        ),
        ([[PAIR], [PAIR, ("a", 3)]], "sentence 1, token 1: column 1 must be str, found int"),
        ([["a", "b"], ["c", {}]], "sentence 1, token 1: expected str, found dict"),
        ([["a"], ["b", None]], "sentence 1, token 1: expected str, found NoneType"),
        ([[{}], [{}, PAIR]], "sentence 1, token 1: expected dict, found a tuple of 2 columns"),
        ([[3]], "sentence 0, token 0: expected str, a tuple of columns or dict, found int"),
        ([[()]], "sentence 0, token 0: expected str, .* found a tuple of 0 columns"),
        ([[], []], "no sentences"),
        ([["a"], "b"], "sentence 1: expected a list of tokens, found str"),
        (["a"], "sentence 0: expected a list of tokens, found str"),
        ([["a"], None], "sentence 1: expected a list of tokens, found NoneType"),
        ("abc", "expected a list of sentences, found str"),
        ([], "no sentences"),
    ],
)
def test_errors_of_tokens(sentences, message):
    with pytest.raises(ValueError, match=message):
        TokenFeatures().fit(sentences)


def test_transform_wants_the_kind_of_fit():
    features = TokenFeatures().fit([[PAIR]])
    with pytest.raises(ValueError, match="sentence 3, token 0: expected a tuple of 2 .* str"):
        features.transform([[PAIR], [PAIR, PAIR], [PAIR], ["a"]])
    np.testing.assert_array_equal(features.transform([[], [PAIR], []]).lengths, [0, 1, 0])
    nothing = features.transform([])
    assert nothing.matrix.shape == (0, features.n_features_)
    assert len(nothing.lengths) == 0
    with pytest.raises(NotFittedError):
        TokenFeatures().transform([[PAIR]])
    with pytest.raises(NotFittedError):
        TokenFeatures().feature_names_out()


def test_failed_refit_changes_nothing():
    features = TokenFeatures().fit([[PAIR]])
    before = features.transform([[PAIR]]).matrix
    with pytest.raises(ValueError, match="feature 'k'"):
        features.fit([[{"k": None}]])
    assert (features.transform([[PAIR]]).matrix != before).nnz == 0


def test_dict_semantics():
    token = {
        "w": "the", "BOS": True, "EOS": False, "len": 3, "x": np.float32(0.5), "none": 0.0,
        "in": ["b", "a", "b"], "set": {"c"}, "empty": "", "p": {"q": "v", "r": 2, "s": {"t": True}},
    }  # fmt: skip
    features = TokenFeatures()
    rows = features.fit_transform([[token, {}], [{"len": 1.5, "w": "an"}]])
    assert named_rows(rows, features.feature_names_out()) == [
        {"w=the": 1.0, "BOS": 1.0, "len": 3.0, "x": 0.5, "in=a": 1.0, "in=b": 1.0, "set=c": 1.0,
         "empty=": 1.0, "p:q=v": 1.0, "p:r": 2.0, "p:s:t": 1.0},
        {},
        {"len": 1.5, "w=an": 1.0},
    ]  # fmt: skip
    assert (features.kind_, features.templates_, rows.lengths.tolist()) == ("dict", [], [2, 1])
    unseen = features.transform([[{"w": "a", "len": -2, "in": ("a", "z"), "new": 1}]])
    assert named_rows(unseen, features.feature_names_out()) == [{"len": -2.0, "in=a": 1.0}]


def test_dict_naming_a_feature_twice_adds_up():
    features = TokenFeatures()
    rows = features.fit_transform([[{"a": "b", "c": 2, "a=b": 0.5}]])
    assert named_rows(rows, features.feature_names_out()) == [{"a=b": 1.5, "c": 2.0}]


def test_dict_min_count_counts_tokens():
    tokens = [{"a": "b", "a=b": 1.0, "c": 2.0}, {"c": 0, "d": True}, {"c": 3, "d": True, "e": "f"}]
    features = TokenFeatures(min_count=2)
    rows = features.fit_transform([tokens])
    names = features.feature_names_out()
    assert names.tolist() == ["c", "d"]
    assert features.n_features_ == 2
    assert named_rows(rows, names) == [{"c": 2.0}, {"d": 1.0}, {"c": 3.0, "d": 1.0}]
    assert (features.transform([tokens]).matrix != rows.matrix).nnz == 0


values = st.one_of(
    st.text("ab", max_size=2), st.booleans(), st.integers(-2, 2), st.floats(-1, 1),
    st.lists(st.text("ab", max_size=2), max_size=3), st.sets(st.text("ab", max_size=2), max_size=3),
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.dictionaries(st.sampled_from("uvwxyz"), values), min_size=1), min_size=1)
)
def test_dict_equals_crfsuite(sentences):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    features = TokenFeatures()
    rows = named_rows(features.fit_transform(sentences), features.feature_names_out())
    items = [item for s in sentences for item in pycrfsuite.ItemSequence(s).items()]
    for row, item in zip(rows, items, strict=True):
        # crfsuite writes key:value and keeps zeros
        assert {k.replace("=", ":"): v for k, v in row.items()} == {
            k: v for k, v in item.items() if v
        }


@pytest.mark.parametrize(
    ("value", "found"),
    [(None, "must be str, bool, .* found NoneType"), (float("nan"), "finite number, found nan"),
     (10**400, "finite number"), ([1], "list or set of str, found list"),
     ([[]], "feature 'k' must be .* found list"), (np.ones(2), "feature 'k' must be .* ndarray"),
     (("a", 1), "feature 'k' must be .* found tuple")],
)  # fmt: skip
def test_errors_of_dict_values(value, found):
    sentences = [[{"k": "a"}], [{}, {"j": 1, "k": value, "l": 2}, {"k": value}]]
    with pytest.raises(ValueError, match=f"sentence 1, token 1: .*{found}"):
        TokenFeatures().fit(sentences)
    features = TokenFeatures().fit(sentences[:1])
    with pytest.raises(ValueError, match="sentence 0, token 1: "):
        features.transform(sentences[1:])


def test_errors_of_dict_names_and_templates():
    for token in ({3: "a"}, {"k": {3: "a"}}, {3: {"k": "a"}}):
        with pytest.raises(ValueError, match="sentence 0, token 1: .*3"):
            TokenFeatures().fit([[{}, token]])
    with pytest.raises(ValueError, match="templates and columns are for str and tuple tokens"):
        TokenFeatures(["0[0]"]).fit([[{"a": "b"}]])


SAMPLES = {
    "str": [["The", "cat"], ["sat"]],
    "columns": [[("The", "DT"), ("cat", "NN")], [("sat", "VB")]],
    "dict": [[{"w": "The"}, {"w": "cat", "s": {"x", "y", "z"}}], [{"n": 2.5}]],
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_estimator_contract(kind):
    sentences = SAMPLES[kind]
    features = TokenFeatures(min_count=1)
    assert clone(features).get_params() == {"templates": None, "columns": None, "min_count": 1}
    rows = features.fit_transform(sentences)
    again = clone(features).fit([*sentences, sentences[0]]).fit(iter(sentences))
    copy = pickle.loads(pickle.dumps(features))
    assert vars(clone(again)) == {"templates": None, "columns": None, "min_count": 1}
    for other in (again, copy):
        assert other.kind_ == kind
        assert other.n_features_ == features.n_features_
        assert other.feature_names_out().tolist() == features.feature_names_out().tolist()
        for field in ("data", "indices", "indptr"):
            found = getattr(other.transform(sentences).matrix, field)
            np.testing.assert_array_equal(found, getattr(rows.matrix, field))
    assert features.set_params(min_count=99).fit(sentences).n_features_ == 0


def test_chunking_corpus(data_dir):
    path = data_dir / "conll2000" / "train.txt.gz"
    if not path.exists():
        pytest.skip(f"no {path.name} in the conll2000 data folder")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        blocks = itertools.groupby(lines, key=lambda line: not line.strip())
        sentences = [[tuple(x.split()[:2]) for x in block] for blank, block in blocks if not blank]
    features = TokenFeatures(CHUNKING)
    rows = features.fit_transform(sentences)
    assert len(rows.lengths) == 8936
    assert rows.matrix.shape == (211727, features.n_features_)
    assert features.n_features_ == 338551
    assert rows.matrix.nnz == 19 * 211727
    assert (features.transform(sentences).matrix != rows.matrix).nnz == 0
    names = features.feature_names_out()
    assert len(set(names)) == len(names)
    part = Rows(rows.matrix[: rows.lengths[:300].sum()], rows.lengths[:300])
    assert [set(row) for row in named_rows(part, names)] == naive_rows(sentences[:300], CHUNKING)
