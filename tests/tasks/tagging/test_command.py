"""The task command of tagging: files in, tagged files out, evaluations and tables."""

import gzip
import io
import json
import os
import threading

import pytest

from maxmargin.tasks.documents import finite_values
from maxmargin.tasks.registry import find_task_command

TRAIN = """\
the DT B-NP
cat NN I-NP
sleeps VBZ B-VP

a DT B-NP
dog NN I-NP
barks VBZ B-VP
. . O

-DOCSTART- -X- O

dogs NNS B-NP
bark VBP B-VP
"""
COMMAND = find_task_command("tagging")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("tagging") / "train.txt"
    path.write_text(TRAIN)
    data = COMMAND.read([path], {})
    found = COMMAND.estimator({"bio": True}).set_params(tol=1e-4, max_epochs=500)
    COMMAND.fit(found, data)
    return found


def tag(model, text, **options):
    raw = text if isinstance(text, bytes) else text.encode()
    sink = io.BytesIO()
    options = {name.replace("_", "-"): value for name, value in options.items()}
    count = COMMAND.predict(model, [io.BytesIO(raw)], sink, options)
    return count, sink.getvalue().decode(options.get("encoding", "utf-8"))


def written(tmp_path, text, name="data.txt"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_last_column_is_the_tag_and_the_others_are_features(tmp_path):
    data = COMMAND.read([written(tmp_path, TRAIN)], {})
    assert data.inputs[0] == [("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")]
    assert data.outputs[0] == ["B-NP", "I-NP", "B-VP"]
    assert data.counts == {"sentences": 3, "tokens": 9, "tags": 4}
    some = COMMAND.take(data, [2, 0])
    assert some.inputs == [data.inputs[2], data.inputs[0]]
    assert some.counts == {"sentences": 2, "tokens": 5, "tags": 3}


@pytest.mark.parametrize(
    "options, token, first, names",
    [
        ({}, ("the", "DT"), "B-NP", ["word", "col2"]),
        ({"columns": ("1",)}, "the", "B-NP", ["word"]),
        ({"columns": ("word", "POS")}, ("the", "DT"), "B-NP", ["word", "pos"]),
        ({"columns": ("word",), "tag-column": "pos"}, "the", "DT", ["word"]),
        ({"columns": ("3,1",), "tag-column": "2"}, ("B-NP", "the"), "DT", ["word", "col1"]),
        ({"tag-column": "1"}, ("DT", "B-NP"), "the", ["word", "col3"]),
        ({"columns": ("1", "word")}, ("the", "the"), "B-NP", None),
    ],
)
def test_columns_may_be_chosen_and_keep_their_names(tmp_path, options, token, first, names):
    data = COMMAND.read([written(tmp_path, TRAIN)], options)
    assert (data.inputs[0][0], data.outputs[0][0]) == (token, first)
    assert data.details["columns"] == names
    model = COMMAND.estimator(options).set_params(max_epochs=1, tol=10.0)
    COMMAND.fit(model, data)
    assert model.features_.columns_ == names


def test_of_conll_u_forms_and_upos_are_taken(tmp_path):
    text = "# text = go\n1\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    data = COMMAND.read([written(tmp_path, text)], {})
    assert (data.inputs, data.outputs) == ([["go"]], [["VERB"]])
    data = COMMAND.read(
        [written(tmp_path, text)], {"columns": ["form", "lemma"], "tag-column": "deprel"}
    )
    assert (data.inputs, data.outputs) == ([[("go", "go")]], [["root"]])
    assert data.details["columns"] == ["form", "lemma"]


@pytest.mark.parametrize(
    "text, options, message",
    [
        ("\n# x\n", {}, "data.txt: the file has no tokens"),
        ("a\nb\n", {}, "data.txt, line 1: found 1 column"),
        ("a b c\n", {"tag-column": "4"}, "line 1: tag-column 4: the file has 3 columns"),
        ("a b c\n", {"columns": ("9",)}, "line 1: columns: 9: the file has 3 columns"),
        ("a b c\n", {"columns": ("3",)}, "line 1: column 3 is both the tag and a feature"),
        ("a\tb\nc\t\n", {}, "line 2: found an empty tag"),
        ("a b\nc d\0\n", {}, "line 2: found a tag with a null character"),
        ("a b\nc " + "x" * 300 + "\n", {}, "line 2: found a tag of 300 characters"),
    ],
)
def test_errors_of_files_name_the_line_and_the_option(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        COMMAND.read([written(tmp_path, text)], options)


def test_files_with_other_columns_are_refused(tmp_path):
    paths = [written(tmp_path, TRAIN), written(tmp_path, "a b\n", "other.txt")]
    with pytest.raises(ValueError, match="differ in their number of columns"):
        COMMAND.read(paths, {})
    with pytest.raises(ValueError, match="no data file"):
        COMMAND.read([], {})


def test_predicted_tags_are_appended_and_all_else_is_kept(model):
    text = "# a comment here, kept\nthe  DT\ncat\tNN \n\n\n-DOCSTART- -X-\n\ndogs NNS"
    count, found = tag(model, text, separator="space")
    assert count == 2
    assert found == (
        "# a comment here, kept\nthe  DT B-NP\ncat\tNN I-NP\n\n\n"
        "-DOCSTART- -X- O\n\ndogs NNS B-NP\n"
    )


def test_a_file_with_the_tag_column_keeps_it_unless_it_is_to_be_replaced(model):
    text = "the DT X\r\ncat  NN X\r\n\r\n"
    assert tag(model, text)[1] == "the DT X B-NP\r\ncat  NN X I-NP\r\n\r\n"
    assert tag(model, text, write="replace")[1] == "the DT B-NP\r\ncat  NN I-NP\r\n\r\n"
    assert tag(model, text, write="only")[1] == "B-NP\nI-NP\n\n"
    tabs = "X\tthe\tDT\n"
    assert tag(model, tabs, write="replace", tag_column="1")[1] == "B-NP\tthe\tDT\n"
    assert tag(model, tabs, columns=("2", "3"))[1] == "X\tthe\tDT\tB-NP\n"


def test_the_best_taggings_come_with_rank_and_score(model):
    text = "# a comment, kept\nthe DT\ncat NN\n\ndogs NNS"
    sentences = [[("the", "DT"), ("cat", "NN")], [("dogs", "NNS")]]
    expected = model.predict_k_best(sentences, 4)
    count, found = tag(model, text, nbest=4)
    assert count == 2
    blocks = [block.split("\n") for block in found.split("\n\n")]
    assert blocks.pop() == [""]
    assert blocks[0].pop(0) == "# a comment, kept"
    ranked = [(rank, *own) for best in expected for rank, own in enumerate(best)]
    assert len(ranked) == 7  # of one token, BIO allows only three
    words = [["the DT", "cat NN"]] * 4 + [["dogs NNS"]] * 3
    for block, (rank, tags, score), tokens in zip(blocks, ranked, words, strict=True):
        own = [f"{token} {tag}" for token, tag in zip(tokens, tags, strict=True)]
        assert block == [f"# {rank} {score:.6f}", *own]
    only = tag(model, text, nbest=2, write="only")[1].split("\n\n")
    assert only[0].split("\n") == [f"# 0 {expected[0][0][1]:.6f}", *expected[0][0][0]]
    wrongs = (
        ({"nbest": 0}, "nbest=0 must be 1 or more"),
        ({"nbest": 2, "probabilities": True}, "nbest=2: more than one .* not with probabilities"),
    )
    for wrong, said in wrongs:
        with pytest.raises(ValueError, match=said):
            tag(model, text, **wrong)


def test_errors_on_some_tags_may_cost_more(tmp_path):
    data = COMMAND.read([written(tmp_path, TRAIN)], {})
    options = COMMAND.with_defaults({"class-weight": ("B-NP=2.5", "O=0")})
    model = COMMAND.priced(COMMAND.estimator(options), options)
    assert model.loss.class_weight == {"B-NP": 2.5, "O": 0.0}
    assert model.loss.normalize is False
    COMMAND.check_labels(data, options)
    model.loss = "hamming"
    assert COMMAND.priced(model, options).loss.normalize is True
    options["class-weight"] = ("B-NB=2",)
    with pytest.raises(ValueError, match="'B-NB' is not a label of the data; did you mean 'B-NP'"):
        COMMAND.check_labels(data, options)
    for wrong in ("B-NP", "=2", "B-NP=x", "B-NP=-1", "B-NP=inf"):
        with pytest.raises(ValueError, match=r"is not LABEL=X"):
            COMMAND.priced(model, {"class-weight": (wrong,)})
    crf = COMMAND.estimator({"objective": "likelihood"})
    with pytest.raises(ValueError, match="a likelihood has no loss"):
        COMMAND.priced(crf, {"class-weight": ("O=2",)})


@pytest.mark.parametrize("tag_column", ["3", "-1", "pos"])
def test_a_file_need_not_have_the_tag_column_that_training_named(model, tag_column):
    options = {"columns": ("1", "2"), "tag_column": tag_column}
    expected = (1, "the DT B-NP\ncat NN I-NP\n")
    assert tag(model, "the DT\ncat NN\n", **options) == expected
    assert tag(model, "the DT\ncat NN\n", write="replace", **options) == expected


def test_text_that_is_odd_passes_through(model):
    words = ["\x00", "שלום", "👩\u200d👩\u200d👧", "\u202ex", "<b>&quot;", "a\xa0b"]
    text = "".join(f"{word}\tNN\n" for word in words)
    lines = tag(model, text)[1].splitlines()
    assert [line.rsplit("\t", 1)[0] for line in text and lines] == text.splitlines()
    assert tag(model, "caf\xe9 NN\n".encode("latin-1"), encoding="latin-1")[1].startswith("caf\xe9")


def test_errors_when_predicting(model):
    with pytest.raises(
        ValueError, match="the input, line 1: found 4 columns, expected 2 as .* or 3"
    ):
        tag(model, "a b c d\n")
    with pytest.raises(ValueError, match="columns names 1 columns, but the model was trained on 2"):
        tag(model, "a b c d\n", columns=("1",))


def test_a_model_of_words_tags_files_of_words(tmp_path):
    data = COMMAND.read([written(tmp_path, TRAIN)], {"columns": ("1",)})
    words = COMMAND.estimator({}).set_params(tol=1e-3, max_epochs=500)
    COMMAND.fit(words, data)
    assert tag(words, "the\ncat\n")[1] == "the B-NP\ncat I-NP\n"
    # as the run's own options say
    assert tag(words, "the DT X\ncat NN X\n", columns=("1",))[1] == "the DT X B-NP\ncat NN X I-NP\n"
    assert tag(words, "the\ncat\n", columns=("form",))[1] == "the B-NP\ncat I-NP\n"


def test_a_pipe_is_answered_sentence_by_sentence(model):
    (there, hand), (back, answer) = os.pipe(), os.pipe()
    with (
        os.fdopen(hand, "wb", buffering=0) as write,
        os.fdopen(back, "rb") as read,
        os.fdopen(there, "rb") as source,
        os.fdopen(answer, "wb") as sink,
    ):
        counts = []
        work = threading.Thread(
            target=lambda: counts.append(COMMAND.predict(model, [source], sink, {}))
        )
        work.start()
        for _ in range(3):
            write.write(b"the DT\ncat NN\n\n")
            assert [read.readline() for _ in range(3)] == [
                b"the DT B-NP\n",
                b"cat NN I-NP\n",
                b"\n",
            ]
        write.close()
        work.join()
        assert counts == [3]


def test_evaluation_has_tags_never_seen_and_draws_the_worst_first(model, tmp_path):
    data = COMMAND.read(
        [written(tmp_path, TRAIN + "\nx LS I-LST\n\nthe DT B-VP\ncat NN B-VP\n")], {}
    )
    found = COMMAND.evaluate(model, data, shown=2)
    assert json.loads(json.dumps(found, allow_nan=False)) == finite_values(found)
    values = {metric["name"]: metric["value"] for metric in found["metrics"]}
    assert values["token accuracy"] == pytest.approx(9 / 12)
    assert values["sentence accuracy"] == pytest.approx(3 / 5)
    assert 0 < values["chunk F1"] < 1
    assert found["error"] == pytest.approx(3 / 12)
    assert [table["title"] for table in found["tables"]] == [
        "Chunks by type",
        "Tags",
        "Mistakes made most often",
    ]
    assert found["tables"][1]["note"] == "Not in the training data: I-LST."
    labels, counts = found["confusion"]["labels"], found["confusion"]["counts"]
    assert labels[0] == "B-VP"
    assert sum(map(sum, counts)) == 12
    assert counts[labels.index("I-LST")][labels.index("I-LST")] == 0
    assert [drawing["errors"] for drawing in found["drawings"]] == [2, 1]
    worst = found["drawings"][0]
    assert (worst["kind"], worst["tokens"]) == ("tokens", ["the", "cat"])
    assert (worst["truth"], worst["predicted"]) == (["B-VP", "B-VP"], ["B-NP", "I-NP"])


@pytest.mark.parametrize("how", ["append", "only"])
def test_sentences_of_several_files_stay_apart(model, how):
    texts, sink = ("the DT", "dogs NNS\n\n", "# none\n", "a DT\n", "the DT"), io.BytesIO()
    sources = [io.BytesIO(text.encode()) for text in texts]
    assert COMMAND.predict(model, sources, sink, {"write": how}) == 4
    found = sink.getvalue().decode()
    assert found.count("\n\n") == (4 if how == "only" else 3)
    if how == "append":
        assert found == ("the DT B-NP\n\ndogs NNS B-NP\n\n# none\na DT B-NP\n\nthe DT B-NP\n")


def test_data_without_the_tag_cannot_be_compared_with(model, tmp_path):
    data = COMMAND.read([written(tmp_path, "the DT\ncat NN\n")], {})
    with pytest.raises(ValueError, match="1 feature column.* trained on 2; give files with the"):
        COMMAND.evaluate(model, data)


def test_long_sentences_are_drawn_in_part_and_many_labels_are_pooled(model):
    from maxmargin.tasks.sequences import confusion_table, shown_window

    truth = ["a"] * 1000
    predicted = ["a"] * 600 + ["b"] * 400
    assert shown_window(truth, predicted) == slice(590, 790)
    many = [[f"t{k:03d}" for k in range(100)]]
    matrix, note = confusion_table(many, many)
    assert (len(matrix["labels"]), matrix["labels"][-1]) == (40, "(others)")
    assert sum(map(sum, matrix["counts"])) == 100
    assert "of 100 labels" in note


def test_what_the_model_has_learned(model):
    features, pairs = COMMAND.describe(model)
    assert features["columns"] == ["tag", "feature", "weight"]
    assert {row[0] for row in features["rows"]} == {"B-NP", "I-NP", "B-VP", "O"}
    assert pairs["rows"][0][2] == max(row[2] for row in pairs["rows"])


def test_conll2000_comes_back_with_one_column_more(data_dir):
    path = data_dir / "conll2000" / "train.txt.gz"
    data = COMMAND.read([path], {})
    assert data.counts == {"sentences": 8936, "tokens": 211727, "tags": 22}
    few = COMMAND.estimator({"bio": True}).set_params(max_epochs=2, tol=1.0)
    COMMAND.fit(few, COMMAND.take(data, range(100)))
    raw = b"\n".join(gzip.decompress(path.read_bytes()).split(b"\n")[:5000]) + b"\n"
    found = tag(few, raw)[1].split("\n")
    kept = [line.rsplit(" ", 1)[0] for line in found]
    assert kept == raw.decode().split("\n")
