"""The task alignment: files in, links out, with a small made-up language and the Hansards."""

import gzip
import io
import json
import logging
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from maxmargin import load, metrics
from maxmargin.cli import main
from maxmargin.cli.runs.places import MODEL
from maxmargin.persistence import save
from maxmargin.tasks import AlignmentFeatures, WordStatistics, intersected_links
from maxmargin.tasks.alignment.files import BATCH_PAIRS
from maxmargin.tasks.registry import find_task_command

WORDS = 25


@pytest.fixture(scope="module")
def command():
    return find_task_command("alignment")


def make_pairs(n, seed):
    """Sentences of numbered words; the second language turns every pair of words around."""
    rng = np.random.default_rng(seed)
    pairs, links = [], []
    for _ in range(n):
        words = rng.choice(WORDS, size=int(rng.integers(2, 7)), replace=False).tolist()
        order = list(range(len(words)))
        for k in range(0, len(words) - 1, 2):
            order[k], order[k + 1] = order[k + 1], order[k]
        pairs.append(([f"a{w}" for w in words], [f"b{words[k]}" for k in order]))
        links.append({(order[j], j) for j in range(len(words))})
    return pairs, links


def write_sides(folder, name, pairs):
    paths = [folder / f"{name}.{side}" for side in "ab"]
    for side, path in enumerate(paths):
        path.write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs))
    return paths


def pharaoh(links):
    return "".join(" ".join(f"{i}-{j}" for i, j in sorted(own)) + "\n" for own in links)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    hand, links = make_pairs(30, 0)
    (folder / "hand.links").write_text(pharaoh(links))
    test, truth = make_pairs(20, 1)
    (folder / "test.links").write_text(pharaoh(truth))
    return SimpleNamespace(
        folder=folder,
        hand=[*write_sides(folder, "hand", hand), folder / "hand.links"],
        parallel=write_sides(folder, "parallel", make_pairs(300, 2)[0]),
        test=[*write_sides(folder, "test", test), folder / "test.links"],
        pairs=test,
        truth=truth,
    )


@pytest.fixture(scope="module")
def model(command, files):
    options = {"parallel": files.parallel}
    model = command.estimator(options)
    command.fit(model, command.read(files.hand, options))
    return model


def test_the_registry_knows_the_command(command):
    assert command.name == "alignment"
    names = [option.name for option in command.options]
    assert len(set(names)) == len(names)
    assert {o.name for o in command.options if o.of_data} >= {"encoding", "links-format", "sample"}


# -- reading ---------------------------------------------------------------------------------------
def test_pharaoh_and_naacl_files_are_told_apart_and_agree(command, files, tmp_path):
    by_lines = command.read(files.hand, {})
    naacl = tmp_path / "hand.wa"
    naacl.write_text(
        "".join(
            f"{s + 1} {i + 1} {j + 1} S\n"
            for s, (sure, _) in enumerate(by_lines.outputs)
            for i, j in sorted(sure)
        )
    )
    by_numbers = command.read([*files.hand[:2], naacl], {})
    assert by_numbers.inputs == by_lines.inputs
    assert by_numbers.outputs == by_lines.outputs
    assert by_lines.counts["links"] == "by hand, hand.links (pharaoh)"
    assert by_numbers.counts["links"] == "by hand, hand.wa (naacl)"
    assert by_lines.counts["sentence pairs"] == 30
    assert by_lines.counts["sure links"] == sum(len(sure) for sure, _ in by_lines.outputs)


def test_sentences_that_a_naacl_file_leaves_out_are_text(command, files, tmp_path):
    some = tmp_path / "some.wa"
    some.write_text("3 1 2 S\n3 2 1 P\n7 1 2\n")
    data = command.read([*files.hand[:2], some], {})
    everything = command.read(files.hand, {})
    assert data.inputs == [everything.inputs[2], everything.inputs[6]]
    assert data.outputs == [({(0, 1)}, {(0, 1), (1, 0)}), ({(0, 1)}, {(0, 1)})]
    assert data.counts["pairs without links"] == 28
    text = list(data.details["text"])
    assert len(text) == 28
    assert text == [pair for s, pair in enumerate(everything.inputs) if s not in (2, 6)]


def test_all_text_serves_where_every_pair_has_links(command, files):
    data = command.read(files.hand, {})
    assert list(data.details["text"]) == data.inputs
    more = command.read(files.hand, {"parallel": files.parallel})
    assert len(list(more.details["text"])) == 300


def test_wrapped_and_packed_sentences(command, tmp_path):
    source, target, links = tmp_path / "x.e", tmp_path / "x.f.gz", tmp_path / "x.wa"
    source.write_text("<s snum=11> one two </s>\n<s snum=12> three </s>\n")
    target.write_bytes(gzip.compress(b"<s snum=11> un deux </s>\n<s snum=12> trois </s>\n"))
    links.write_text("0012 1 1 S\n")
    data = command.read([source, target, links], {})
    assert data.inputs == [(["three"], ["trois"])]
    links.write_text("2 1 1 S\n")  # counts lines, whatever the text says
    assert command.read([source, target, links], {}).inputs == [(["three"], ["trois"])]


def test_pharaoh_from_one_and_possible_links(command, files, tmp_path):
    source, target = write_sides(tmp_path, "x", [(["a", "b"], ["c"])])
    links = tmp_path / "x.links"
    links.write_text("1-1 2?1\n")
    data = command.read([source, target, links], {"links-format": "pharaoh-1"})
    assert data.outputs == [({(0, 0)}, {(0, 0), (1, 0)})]


def test_links_to_null_are_left_out_on_request(command, files, tmp_path):
    source, target = write_sides(tmp_path, "x", [(["a", "b"], ["c"])])
    links = tmp_path / "x.wa"
    links.write_text("1 1 1 S\n1 2 0 S\n")
    with pytest.raises(ValueError, match=r"x\.wa, line 2: .*format naacl-null leaves them out"):
        command.read([source, target, links], {})
    data = command.read([source, target, links], {"links-format": "naacl-null"})
    assert data.outputs == [({(0, 0)}, {(0, 0)})]


BAD_LINKS = {
    "0-0 9-0\n0-0\n": r"x\.links, line 1: found a link of words 9 and 0, counted from 0.*pharaoh-1",
    "0-0\n1-0\n": r"line 2: found a link of words 1 and 0.*swapped",
    "0-0\n": r"x\.links has links of 1 lines, but there are 2 sentence pairs",
    "0-0\n0~0\n": r"x\.links, line 2: found '0~0'",
    "3 1 1 S\n": r"x\.links, line 1: found sentence 3.* among the 2 sentences.*--first-sentence",
    "1 3 1 S\n": r"x\.links, sentence 1: found a link of words 3 and 1, counted from 1",
    "1 1 1 Q\n": r"x\.links, line 1: found type 'Q'",
    "hello\n": r"x\.links, line 1: found 'hello', expected links",
    "1 " + "9" * 5000 + " 1 S\n": r"x\.links, line 1",
    "\n\n": None,
}


@pytest.mark.parametrize("text", BAD_LINKS)
def test_bad_links_name_the_file_and_the_line(command, tmp_path, text):
    source, target = write_sides(tmp_path, "x", [(["a", "b"], ["c", "d"]), (["a"], ["c", "d"])])
    links = tmp_path / "x.links"
    links.write_text(text)
    if BAD_LINKS[text] is None:  # nobody linked anything: that is a truth, too
        assert command.read([source, target, links], {}).outputs == [(set(), set())] * 2
        return
    with pytest.raises(ValueError, match=BAD_LINKS[text]):
        command.read([source, target, links], {})


def test_bad_text_names_the_file_and_the_line(command, files, tmp_path):
    source, target = write_sides(tmp_path, "x", [(["a"], ["c"]), (["b"], ["d"])])
    with pytest.raises(ValueError, match="takes two or three files, found 1"):
        command.read([source], {})
    target.write_text("c\n")
    with pytest.raises(ValueError, match=r"x\.a, line 2: .*x\.b has only 1 lines"):
        command.read([source, target], {})
    target.write_bytes(b"c\n\xff\n")
    with pytest.raises(ValueError, match=r"x\.b, line 2: found bytes that are not utf-8"):
        command.read([source, target], {})
    with pytest.raises(ValueError, match="'utf-16'"):
        command.read([source, target], {"encoding": "utf-16"})
    source.write_text("<s snum=1> a </s>\n<s snum=2> b </s>\n")
    target.write_text("<s snum=1> c </s>\n<s snum=3> d </s>\n")
    with pytest.raises(ValueError, match=r"x\.a, line 2 is sentence 2, but .*x\.b has sentence 3"):
        command.read([source, target], {})
    source.write_text("<s snum=1> a </s>\n<s snum=1> b </s>\n")
    target.write_text("c\nd\n")
    (tmp_path / "x.wa").write_text("1 1 1\n")
    with pytest.raises(ValueError, match="sentence 1 twice"):
        command.read([source, target, tmp_path / "x.wa"], {})
    source.write_text("\n\n")
    with pytest.raises(ValueError, match="have no pair of sentences with 1 to 60 words"):
        command.read([source, target], {})
    with pytest.raises(ValueError, match="parallel has 1 files"):
        command.read(files.hand, {"parallel": [source]})
    missing = command.read(files.hand, {"parallel": [source, tmp_path / "none"]})
    with pytest.raises(FileNotFoundError, match="none"):
        command.fit(command.estimator({}), missing)


# -- learning --------------------------------------------------------------------------------------
def test_a_model_of_hand_made_links_is_nearly_right(command, files, model):
    evaluation = command.evaluate(model, command.read(files.test, {}), shown=3)
    sure = files.truth
    predicted = model.predict(files.pairs)
    assert evaluation["error"] == metrics.alignment_error_rate(predicted, sure)
    assert evaluation["error"] < 0.02
    assert evaluation["error_name"] == "AER"
    named = {own["name"]: own["value"] for own in evaluation["metrics"]}
    assert named["recall"] == metrics.alignment_recall(predicted, sure)
    assert named["precision"] == metrics.alignment_precision(predicted, sure)
    assert named["links predicted"] == sum(map(len, predicted))


def test_statistics_are_kept_for_a_resumed_run(command, files, tmp_path, monkeypatch):
    options = {"parallel": files.parallel, "stem-length": 0}
    first = command.estimator(options)
    command.fit(first, command.read(files.hand, options), tmp_path)
    assert (tmp_path / "statistics.maxmargin").exists()
    monkeypatch.setattr(WordStatistics, "fit", None)  # must not be called again
    second = command.estimator(options)
    command.fit(second, command.read(files.hand, options), tmp_path)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert first.predict(files.pairs) == second.predict(files.pairs)
    paths = [tmp_path / name for name in ("first", "second")]
    for path, fitted in zip(paths, (first, second), strict=True):
        save(fitted.statistics_, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    other = command.estimator({"hmm-rounds": 2})
    with pytest.raises(ValueError, match=r"statistics\.maxmargin: .*other options"):
        command.fit(other, command.read(files.hand, {}), tmp_path)


def test_damaged_statistics_are_learned_anew(command, files, tmp_path, caplog):
    options = {"parallel": files.parallel, "stem-length": 0}
    first, second = command.estimator(options), command.estimator(options)
    command.fit(first, command.read(files.hand, options), tmp_path)
    kept = tmp_path / "statistics.maxmargin"
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    command.fit(second, command.read(files.hand, options), tmp_path)
    assert "Learning the statistics anew" in caplog.text
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert kept.read_bytes() == whole


def test_without_links_the_directed_models_teach(command, files):
    options = {"sample": 120, "stem-length": 0}
    data = command.read(files.parallel, options)
    assert data.outputs is None
    assert len(data) == 120
    assert "no links by hand" in data.counts["links"]
    assert data.counts["pairs in the text"] == 300
    assert data.inputs == command.read(files.parallel, options).inputs
    counts = dict(data.counts)
    model = command.estimator(options)
    command.fit(model, data)
    assert data.counts == counts
    assert [sorted(sure) for sure, _ in data.outputs] == intersected_links(
        model.statistics_, data.inputs
    )
    own = command.evaluate(model, data)
    assert own["error_name"] == own["metrics"][0]["name"] == "AER against the directed models"
    assert "no links by hand" in own["data"]["links"]
    assert command.evaluate(model, command.read(files.test, {}))["error"] < 0.05


def test_comparisons_get_as_many_pairs_as_they_ask_for(command, files):
    options = {"sample": 50}
    assert len(command.read(files.parallel, command.sized(options, 200))) == 200
    assert len(command.read(files.parallel, command.sized(options, 20))) == 50
    assert len(command.read(files.parallel, command.sized(options, 5000))) == 300
    assert len(command.read(files.hand, command.sized(options, 5000))) == 30
    assert options == {"sample": 50}


def test_parts_share_text_and_statistics(command, files, monkeypatch):
    options = {"sample": 100, "stem-length": 0}
    data = command.read(files.parallel, options)
    model = command.estimator(options)
    small = command.take(data, [5, 3, 8])
    assert small.inputs == [data.inputs[5], data.inputs[3], data.inputs[8]]
    assert small.counts["sentence pairs"] == 3
    command.fit(model, small)
    assert data.outputs is None
    monkeypatch.setattr(WordStatistics, "fit", None)
    large = command.take(data, range(50))
    other = command.estimator(options)
    command.fit(other, large)
    assert other.statistics_ is model.statistics_
    assert command.take(large, [1]).outputs == [large.outputs[1]]


def test_options_reach_the_aligner(command):
    model = command.estimator(
        {"max-links": 2, "c-plus": 3.0, "c-minus": 5.0, "normalize": True, "frequent": 7}
    )
    assert (model.max_links, model.c_plus, model.c_minus, model.normalize) == (2, 3.0, 5.0, True)
    assert model.features.frequent == 7
    assert model.statistics.stem_length == 5
    assert command.estimator({"stem-length": 0}).statistics.stem_length is None


# -- predicting ------------------------------------------------------------------------------------
def stream(text):
    return io.BytesIO(text.encode())


def test_two_streams_or_one_give_the_same_lines(command, files, model):
    left, right = ("".join(" ".join(p[k]) + "\n" for p in files.pairs) for k in (0, 1))
    sink = io.BytesIO()
    assert command.predict(model, [stream(left), stream(right)], sink, {}) == len(files.pairs)
    assert sink.getvalue().decode() == pharaoh(model.predict(files.pairs))
    joined = "".join(f"{' '.join(a)} ||| {' '.join(b)}\n" for a, b in files.pairs)
    other = io.BytesIO()
    assert command.predict(model, [stream(joined)], other, {}) == len(files.pairs)
    assert other.getvalue() == sink.getvalue()


def test_empty_sentences_give_empty_lines(command, model):
    sink = io.BytesIO()
    assert command.predict(model, [stream("a1\n\n\na2\n"), stream("b1\nb2\n\nb2\n")], sink, {}) == 4
    assert sink.getvalue() == b"0-0\n\n\n0-0\n"
    sink = io.BytesIO()
    assert command.predict(model, [stream("a1 ||| b1\n\n||| b1\na1 |||\n")], sink, {}) == 4
    assert sink.getvalue() == b"0-0\n\n\n\n"
    assert command.predict(model, [stream("")], io.BytesIO(), {}) == 0


def test_naacl_output_has_the_numbers_of_the_text(command, model):
    sink = io.BytesIO()
    left = "<s snum=7> a1 </s>\na2 a3\n"
    command.predict(model, [stream(left), stream("b1\nb3 b2\n")], sink, {"output-format": "naacl"})
    assert sink.getvalue() == b"7 1 1 S\n2 1 2 S\n2 2 1 S\n"


def test_the_first_sentence_may_have_another_number(command, files, model, tmp_path):
    naacl = tmp_path / "links.naacl"
    lines = [
        f"{k} {i + 1} {j + 1} S\n"
        for k, own in enumerate(files.truth, start=101)
        for i, j in sorted(own)
    ]
    naacl.write_text("".join(lines))
    with pytest.raises(ValueError, match=r"links\.naacl.* sentence 101"):
        command.read([*files.test[:2], naacl], {})
    data = command.read([*files.test[:2], naacl], {"first-sentence": 101})
    assert [sure for sure, _ in data.outputs] == files.truth
    options = {"output-format": "naacl", "first-sentence": 101}
    for text in ((stream("a1\na2\n"), stream("b1\nb2\n")), (stream("a1 ||| b1\na2 ||| b2\n"),)):
        sink = io.BytesIO()
        command.predict(model, text, sink, options)
        assert sink.getvalue() == b"101 1 1 S\n102 1 1 S\n"


def test_statistics_of_another_run_serve(command, files, tmp_path, monkeypatch):
    common = ["train", "alignment", "--data", *map(str, files.hand), "-q", "--max-epochs", "2"]
    common += ["--stem-length", "0"]
    parallel = ["--parallel", *map(str, files.parallel)]
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    assert main([*common, *parallel, "--out", str(first)]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(WordStatistics, "fit", None)  # must not be called again
        assert main([*common, "--statistics", str(first), "--out", str(second)]) == 0
        assert main([*common, "--statistics", str(second), "--out", str(third)]) == 0
    for other in (second, third):
        np.testing.assert_array_equal(load(first / MODEL).coef_, load(other / MODEL).coef_)
    files_read = json.loads((second / "data.json").read_text())["files"]
    assert files_read[-1]["path"] == str(first / "prepared" / "statistics.maxmargin")
    shutil.rmtree(first)
    assert main(["evaluate", str(second), *map(str, files.test), "-q"]) == 0


def test_statistics_that_do_not_serve(command, files, model, tmp_path, capsys):
    model.save(tmp_path / "model")
    common = ["train", "alignment", "--data", *map(str, files.hand), "--out", str(tmp_path / "r")]
    known = ["--statistics", str(tmp_path / "model")]
    assert main([*common, *known, "--hmm-rounds", "3"]) == 2
    assert "made with hmm-rounds 5, not 3; give --hmm-rounds 5" in capsys.readouterr().err
    assert main([*common, *known, "--parallel", *map(str, files.parallel)]) == 2
    assert "give one of them" in capsys.readouterr().err
    save(AlignmentFeatures(), tmp_path / "other")
    assert main([*common, "--statistics", str(tmp_path / "other")]) == 2
    assert "has no statistics of words" in capsys.readouterr().err


def test_streams_that_do_not_go_together_name_the_line(command, model):
    sink = io.BytesIO()
    long = BATCH_PAIRS + 3
    with pytest.raises(ValueError, match=f"line {long}: .* has only {long - 1} lines"):
        command.predict(model, [stream("a1\n" * long), stream("b1\n" * (long - 1))], sink, {})
    assert sink.getvalue() == b"0-0\n" * BATCH_PAIRS  # what was whole is written
    with pytest.raises(ValueError, match=r"line 2: found no \|\|\|"):
        command.predict(model, [stream("a1 ||| b1\na1 b1\n")], sink, {})
    with pytest.raises(ValueError, match=r"line 1: found more than one \|\|\|"):
        command.predict(model, [stream("a1 ||| b1 ||| c1\n")], sink, {})
    with pytest.raises(ValueError, match="found 3 files"):
        command.predict(model, [stream("")] * 3, sink, {})


def test_very_long_sentences_are_left_without_links(command, model, caplog):
    sink = io.BytesIO()
    with caplog.at_level(logging.WARNING, "maxmargin"):
        command.predict(model, [stream("a1 a2 a3 ||| b1\na1 ||| b1\n")], sink, {"max-words": 2})
    assert sink.getvalue() == b"\n0-0\n"
    assert "line 1: 3 and 1 words, more than max-words 2" in caplog.text


class Source(io.RawIOBase):
    """A pipe of many lines that remembers how many were asked for."""

    def __init__(self, line, count):
        self.line, self.left, self.given = line, count, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        many = min(self.left, max(1, len(buffer) // len(self.line)))
        data = (self.line * many)[: len(buffer)]
        assert len(data) == many * len(self.line)
        buffer[: len(data)] = data
        self.left -= many
        self.given += many
        return len(data)


def test_predictions_come_while_the_input_is_read(command, model):
    count = 3000
    source = Source(b"a1 a2 ||| b2 b1\n", count)
    lead = []

    class Sink(io.BytesIO):
        def write(self, data):
            written = super().write(data)
            lead.append(source.given - self.getvalue().count(b"\n"))
            return written

    sink = Sink()
    assert command.predict(model, [io.BufferedReader(source, 1024)], sink, {}) == count
    assert sink.getvalue() == b"0-1 1-0\n" * count
    # lines read ahead, however long the input: a batch, and what a buffer holds
    assert max(lead) <= BATCH_PAIRS + io.DEFAULT_BUFFER_SIZE // len(source.line)


def test_strange_text_passes_through(command, model):
    words = ["<b>", "&amp;", "שלום", "🙂", "\x00", "a\u00a0b"]
    line = " ".join(words)
    sink = io.BytesIO()
    command.predict(model, [stream(f"{line}\n"), stream(f"{line}\n")], sink, {})
    assert sink.getvalue().count(b"\n") == 1
    links = [tuple(map(int, link.split("-"))) for link in sink.getvalue().decode().split()]
    assert all(max(link) < len(words) for link in links)


# -- judging ---------------------------------------------------------------------------------------
def test_an_evaluation_is_plain_and_shows_the_worst_first(command, files, model, tmp_path):
    pairs, links = files.pairs[:6], [set(own) for own in files.truth[:6]]
    links[4] = {(0, 0)}  # wrong, so that this pair is the worst
    (tmp_path / "x.links").write_text(pharaoh(links))
    paths = [*write_sides(tmp_path, "x", pairs), tmp_path / "x.links"]
    evaluation = command.evaluate(model, command.read(paths, {}), shown=2)
    assert json.loads(json.dumps(evaluation)) == evaluation
    first = evaluation["drawings"][0]
    assert len(evaluation["drawings"]) == 2
    assert first["kind"] == "links"
    assert first["title"].startswith("pair 5: ")
    assert first["truth_known"]
    assert (first["source"], first["target"]) == pairs[4]
    assert first["sure"] == first["possible"] == [[0, 0]]
    predicted = set(map(tuple, first["predicted"]))
    assert first["errors"] == len(predicted ^ {(0, 0)}) > 0
    tables = {table["title"]: table for table in evaluation["tables"]}
    for table in tables.values():
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
    kinds = {row[0]: row[1] for row in tables["Links by kind"]["rows"]}
    named = {own["name"]: own["value"] for own in evaluation["metrics"]}
    assert kinds["right"] + kinds["possible"] + kinds["wrong"] == named["links predicted"]
    bands = tables["By frequency of the source word"]["rows"]
    assert sum(row[1] for row in bands) == kinds["right"] + kinds["missed"]
    assert sum(row[3] for row in bands) == named["links predicted"]


def test_without_a_truth_there_is_no_error(command, files, model):
    evaluation = command.evaluate(model, command.read(files.test[:2], {}), shown=4)
    assert evaluation["error"] is None
    assert len(evaluation["drawings"]) == 4
    for drawing in evaluation["drawings"]:
        assert not drawing["truth_known"]
        assert drawing["sure"] == drawing["possible"] == []
        assert drawing["predicted"]
    assert evaluation["metrics"][0]["name"] == "agreement with the directed models"
    assert 0.9 < evaluation["metrics"][0]["value"] <= 1.0


def test_a_description_has_features_and_translations(command, model):
    tables = {table["title"]: table for table in command.describe(model)}
    assert json.loads(json.dumps(list(tables.values()))) == list(tables.values())
    strongest = tables["Strongest features"]["rows"]
    assert strongest[0][2] == model.coef_.max()
    assert {row[0] for row in tables["Features by group"]["rows"]} >= {"words", "places"}
    assert tables["Text without links"]["rows"][0] == ["sentence pairs", 300]
    best = {row[0]: row[2] for row in tables["Translations of the most frequent words"]["rows"]}
    assert all(text.startswith(f"b{word[1:]} ") for word, text in best.items())


# -- real text -------------------------------------------------------------------------------------
def test_hansards_with_and_without_links(command, data_dir):
    folder = data_dir / "hansards"
    dev = [folder / name for name in ("dev.e", "dev.f", "dev.wa.nonullalign")]
    text = [folder / "wpt_train_sample.e.gz", folder / "wpt_train_sample.f.gz"]
    train = [folder / f"test001-100.{end}" for end in ("e", "f", "wa.nonullalign")]
    test = command.read(dev, {})
    assert (test.counts["sentence pairs"], test.counts["sure links"]) == (37, 338)
    alone = command.read(text, {"sample": 300})
    learned = command.estimator({"stem-length": 0})
    command.fit(learned, alone)
    sure, possible = zip(*test.outputs, strict=True)
    agreed = intersected_links(learned.statistics_, test.inputs)
    agreed_rate = metrics.alignment_error_rate(agreed, sure, possible)
    learned_rate = command.evaluate(learned, test)["error"]
    assert learned_rate < agreed_rate
    by_hand = command.read(train, {"parallel": text})
    by_hand.details["statistics"] = learned.statistics_
    taught = command.estimator({"stem-length": 0})
    command.fit(taught, by_hand)
    assert command.evaluate(taught, test)["error"] < learned_rate
