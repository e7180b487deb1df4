"""load_conll2000: the real file's published counts, errors named by line, unknown labels."""

import gzip

import pytest

from maxmargin.datasets import conll2000, load_conll2000
from maxmargin.metrics import chunk_scores, chunk_spans

TEXT = "He PRP B-NP\nruns VBZ B-VP\n. . O\n\nStop VB B-VP\n\n"
SENTENCES = [[("He", "PRP"), ("runs", "VBZ"), (".", ".")], [("Stop", "VB")]]
TAGS = [["B-NP", "B-VP", "O"], ["B-VP"]]


@pytest.fixture(scope="module")
def real(data_dir):
    return load_conll2000(path=data_dir)


def test_published_counts(real):
    assert len(real.sentences) == len(real.tags) == 8936
    assert sum(map(len, real.sentences)) == sum(map(len, real.tags)) == 211727
    assert len({tag for tags in real.tags for tag in tags}) == 22
    assert len({pos for sentence in real.sentences for _, pos in sentence}) == 44
    assert sum(len(chunk_spans(tags)) for tags in real.tags) == 106978
    assert [len(s) for s in real.sentences] == [len(t) for t in real.tags]
    assert "CoNLL-2000" in real.DESCR


def test_truth_scores_one_against_itself(real):
    report = chunk_scores(real.tags, real.tags)
    assert report.overall.f1 == 1.0
    assert report.overall.support == 106978
    assert len(report) == 11


def test_real_file_has_the_known_checksum(data_dir):
    file = data_dir / "conll2000" / "train.txt.gz"
    raw = gzip.decompress(file.read_bytes())
    assert len(raw) == 2842164
    conll2000._check_train(raw, "train.txt.gz")


@pytest.mark.parametrize(
    "text",
    [TEXT, TEXT.rstrip("\n"), TEXT.replace("\n", "\r\n"), "\n\n" + TEXT, TEXT.replace(" ", "\t")],
)
@pytest.mark.parametrize("subset", ["train", "test"])
@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_reads_variants(tmp_path, text, subset, suffix):
    raw = text.encode()
    (tmp_path / (subset + suffix)).write_bytes(gzip.compress(raw) if suffix == ".txt.gz" else raw)
    bunch = load_conll2000(subset, tmp_path)
    assert bunch.sentences == SENTENCES
    assert bunch.tags == TAGS


def test_labels_unseen_in_training_load_and_score(tmp_path):
    (tmp_path / "test.txt").write_text("1 CD B-LST\n. . I-LST\nNéa NNP B-NP\n", encoding="utf-8")
    bunch = load_conll2000("test", tmp_path)
    assert bunch.tags == [["B-LST", "I-LST", "B-NP"]]
    report = chunk_scores(bunch.tags, [["O", "O", "B-NP"]])
    assert report["LST"].recall == 0.0
    assert report["LST"].support == 1
    assert report["NP"].f1 == 1.0


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"a DT B-NP\nb NN\n", r"line 2: found 2 columns in 'b NN', expected 3"),
        (b"a DT B-NP\n\nb c NN O\n", r"line 3: found 4 columns in 'b c NN O', expected 3"),
        (b"a DT B-NP\nb \xff O\n", r"line 2: found bytes that are not utf-8"),
        (b"\n\n", r"the file is empty"),
    ],
)
def test_malformed_files_are_named(tmp_path, raw, message):
    file = tmp_path / "train.txt"
    file.write_bytes(raw)
    with pytest.raises(ValueError, match=message) as caught:
        load_conll2000(path=file)
    assert str(file) in str(caught.value)


def test_subset_is_checked():
    with pytest.raises(ValueError, match="subset is 'dev', expected 'train' or 'test'"):
        load_conll2000("dev")


def test_test_file_is_checked_by_its_published_counts():
    sentence = b"a DT O\n" * 24 + b"\n"
    with pytest.raises(ValueError, match=r"found \(sentences, tokens\) \(1, 24\)"):
        conll2000._check_test(sentence, "test.txt")
    rest = 47377 - 2011 * 23
    conll2000._check_test((b"a DT O\n" * 23 + b"\n") * 2011 + b"a DT O\n" * rest, "test.txt")
