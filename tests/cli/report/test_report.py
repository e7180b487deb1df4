"""Reports as files: what is in them, what they leave out, and what they refuse."""

import base64
import io
import json
import os
import random
import re
import struct
import threading
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

from cli.report.folders import (
    NASTY,
    SCRIPT,
    areas_drawing,
    history,
    images_drawing,
    links_drawing,
    make_comparison,
    make_run,
    outline_drawing,
    packed,
    tokens_drawing,
    write,
)
from maxmargin.cli.report.charts import subsample_records
from maxmargin.cli.report.drawings import DRAWINGS, drawing_html, drawings_html
from maxmargin.cli.report.glossary import GLOSSARY
from maxmargin.cli.report.markup import Html, bdi, data_block, el, visible_text
from maxmargin.cli.report.page import STYLES, _assets
from maxmargin.cli.report.tables import confusion_html, grid_html, heat_classes
from maxmargin.cli.report.write import write_report
from maxmargin.drawing.numbers import (
    format_bounds,
    format_count,
    format_percent,
    format_seconds,
    format_time,
)
from maxmargin.drawing.png import ink_png
from maxmargin.drawing.views import COLOURS
from maxmargin.solvers.base import solver_classes

ABBR = r'<abbr title="([^"]+)" tabindex="0">([^<]+)</abbr>'
VOID = {"br", "hr", "img", "input", "meta"}


class Reader(HTMLParser):
    """Checks that elements nest, and keeps names, attributes and text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.names, self.attributes, self.texts = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("reports") / "run")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    return make_comparison(tmp_path_factory.mktemp("reports") / "comparison")


@pytest.mark.parametrize("kind", ["run", "comparison"])
def test_a_report_is_one_file_that_refers_to_nothing_else(kind, request):
    path = write_report(request.getfixturevalue(kind))
    assert path.name == "report.html"
    page = Reader(path.read_text(encoding="utf-8"))
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(page.names)
    addresses = [v for _, key, v in page.attributes if key in ("src", "href", "action", "srcset")]
    assert addresses
    assert all(v.startswith(("#", "data:image/png;base64,")) for v in addresses)
    assert not [key for _, key, _ in page.attributes if key.startswith("on")]
    policy = next(v for _, key, v in page.attributes if key == "content" and "default-src" in v)
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='", policy)


def test_the_report_says_what_was_trained_on_what(run):
    text = " ".join(Reader(write_report(run).read_text(encoding="utf-8")).texts)
    for words in ("Within 0.1 % of the best possible objective", "bcfw", "hamming", "7.31\u202f%"):
        assert words in text
    assert "16 November 2026, 09:30" in text
    assert "config.toml --out NEW-FOLDER" in text


def test_the_metric_of_the_task_comes_before_the_bound(run):
    text = " ".join(Reader(write_report(run).read_text(encoding="utf-8")).texts)
    places = [
        text.index(words)
        for words in ("validation · token error", "train · token error", "Within 0.1 %", "passes")
    ]
    assert places == sorted(places)


def test_words_of_the_trade_are_explained_where_they_stand(run, comparison):
    hints = {}
    for folder in (run, comparison):
        page = write_report(folder).read_text(encoding="utf-8")
        hints |= {words: title for title, words in re.findall(ABBR, page)}
    assert {"gap", "oracle calls", "relative gap", "bcfw", "alpha"} <= set(hints)
    assert hints["gap"] == GLOSSARY["gap"]
    assert all(own.summary for own in solver_classes().values())
    assert hints["bcfw"] == solver_classes()["bcfw"].summary


def test_models_set_side_by_side_stand_with_the_result(tmp_path):
    folder = make_run(tmp_path / "run")
    path = folder / "evaluations" / "validation.json"
    table = {"title": "Beside", "columns": ["model"], "rows": [[SCRIPT]], "note": ""}
    write(path, json.loads(path.read_text()) | {"compared": [table]})
    page = write_report(folder).read_text(encoding="utf-8")
    result = page[page.index('id="result"') : page.index('id="convergence"')]
    assert ["Beside", "model", SCRIPT] == [t for t in Reader(between(result)).texts if t][:3]


def between(section):
    """The table in a piece of a page."""
    begun = section.index('<div class="table"')
    return section[begun : section.index("</table>") + len("</table></div></div>")]


@pytest.mark.parametrize("worst", [None, 0, 1, 3, 99])
def test_how_many_samples_are_drawn_is_a_choice(run, tmp_path, worst):
    page = write_report(run, tmp_path / "page.html", worst).read_text(encoding="utf-8")
    paths = (run / "evaluations").glob("*.json")
    kept = [len(json.loads(path.read_bytes())["drawings"]) for path in paths]
    assert min(kept) >= 1
    wanted = sum(kept) if worst is None else sum(min(worst, own) for own in kept)
    assert page.count('class="sample"') == wanted


def test_a_negative_number_of_samples_is_refused(run):
    with pytest.raises(ValueError, match="worst=-1 must be 0 or more"):
        write_report(run, worst=-1)


def test_every_hostile_string_is_shown_as_text(run):
    page = Reader(write_report(run).read_text(encoding="utf-8"))
    assert page.names.count("script") == 2  # the page's own, and the data of its one chart
    for text in NASTY:
        assert visible_text(text) in page.texts, text


def test_the_report_goes_where_it_is_told(run, tmp_path):
    out = tmp_path / "elsewhere.html"
    assert write_report(run, out) == out
    assert out.read_bytes() == write_report(run).read_bytes()
    assert list(tmp_path.iterdir()) == [out]


def test_a_pipe_is_written_to_and_not_replaced(run, tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert write_report(run, pipe) == pipe
    assert pipe.is_fifo()
    reader.join(10)
    assert found[0].startswith(b"<!doctype html>")


def test_a_place_that_cannot_be_written_is_told(run, tmp_path):
    with pytest.raises(OSError, match="there is no folder .*; make it first"):
        write_report(run, tmp_path / "none" / "page.html")
    with pytest.raises(OSError, match="it is a folder; name a file"):
        write_report(run, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_neither_is_refused(tmp_path):
    with pytest.raises(ValueError, match="neither a run .* nor a comparison"):
        write_report(tmp_path)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write_report(tmp_path / "absent")


@pytest.mark.parametrize("name", ["summary.json", "environment.json", "data.json", "evaluations"])
def test_a_run_cut_short_still_has_a_report(tmp_path, name):
    folder = make_run(tmp_path / "run")
    if name == "evaluations":
        for path in (folder / name).iterdir():
            path.unlink()
    else:
        (folder / name).unlink()
    assert "<h1>" in write_report(folder).read_text(encoding="utf-8")


ODD = [None, [], {}, "x", -1, 1e308, True, [None], {"a": [1]}, [[1]], ["a"], 10**400]


def places(document, before=()):
    """Where values are in a document."""
    yield before
    inner = document.items() if isinstance(document, dict) else ()
    if isinstance(document, list):
        inner = enumerate(document[:4])
    for key, own in inner:
        yield from places(own, (*before, key))


def changed(document, place, value):
    if not place:
        return value
    inner = dict(document) if isinstance(document, dict) else list(document)
    inner[place[0]] = changed(inner[place[0]], place[1:], value)
    return inner


@pytest.mark.parametrize("kind", ["run", "comparison"])
def test_an_odd_value_anywhere_does_not_cost_the_page(kind, request, tmp_path):
    folder = request.getfixturevalue(kind)
    rng = random.Random(0)
    paths = sorted(p for p in folder.rglob("*.json") if "runs" not in p.parts)
    paths += sorted(folder.glob("runs/*.json"))[:2]
    for path in paths:
        before = path.read_text()
        document = json.loads(before)
        try:
            for place in rng.choices(list(places(document)), k=8):
                write(path, changed(document, place, rng.choice(ODD)))
                made = write_report(folder, tmp_path / "report.html")
                assert "</html>" in made.read_text(encoding="utf-8"), (path.name, place)
        finally:
            path.write_text(before)


def test_a_damaged_file_is_named(tmp_path):
    folder = make_run(tmp_path / "run")
    (folder / "summary.json").write_text("{")
    with pytest.raises(ValueError, match=r"summary\.json: not JSON"):
        write_report(folder)


def test_a_run_without_certificate_says_so(tmp_path):
    folder = make_run(tmp_path / "run", [r | {"gap": None, "dual": None} for r in history(3)])
    summary = json.loads((folder / "summary.json").read_text())
    changed = {"dual": None, "gap": None, "status": "failed", "message": "cut by the user"}
    write(folder / "summary.json", summary | changed)
    page = write_report(folder).read_text(encoding="utf-8")
    assert "Nothing bounds how far these weights are" in page
    assert "✗ failed" in page
    assert "<bdi>Cut by the user.</bdi>" in page


def test_a_comparison_names_growth_and_failures(comparison):
    text = " ".join(Reader(write_report(comparison).read_text(encoding="utf-8")).texts)
    assert re.search(r"time grows like n\s+1\.04", text)
    assert "✗ 1 run failed" in text
    assert f"out of memory {SCRIPT}" in text
    assert "At 1600 sentence pairs," in text


def test_a_comparison_opens_with_the_largest_size_that_all_solvers_reached(tmp_path):
    folder = make_comparison(tmp_path / "comparison")
    for path in (folder / "runs").glob("solver1-1600-*.json"):
        write(path, json.loads(path.read_text()) | {"status": "failed", "seconds": None})
    page = Reader(write_report(folder).read_text(encoding="utf-8"))
    lead = next(k for k, words in enumerate(page.texts) if words.startswith("At "))
    assert page.texts[lead] == "At 400 sentence pairs, "
    assert "dual-extragradient" in page.texts[lead : lead + 8]


def test_a_comparison_without_runs_says_so(tmp_path):
    (tmp_path / "runs").mkdir()
    assert "No run of this comparison has finished yet" in write_report(tmp_path).read_text(
        encoding="utf-8"
    )


def test_a_large_run_stays_below_three_megabytes(tmp_path):
    folder = make_run(tmp_path / "run", history(20_000))
    drawings = [tokens_drawing(f"s{k}", ["word" * 5] * 450) for k in range(70)]
    words = [f"{k}" * 30 for k in range(2000)]
    for name in ("train", "validation"):
        path = folder / "evaluations" / f"{name}.json"
        own = json.loads(path.read_text())
        n = 300
        own["confusion"] = {"labels": [f"label {k}" for k in range(n)], "counts": [[1] * n] * n}
        own["tables"] = [{"title": "t", "columns": ["a"], "rows": [["x" * 99]] * 9999, "note": ""}]
        own["drawings"] = [links_drawing(words, words), *drawings]
        write(path, own)
    path = write_report(folder)
    assert path.stat().st_size < 3_000_000
    page = path.read_text(encoding="utf-8")
    for printed in ("more samples are left out", "more rows are left out", "more words", "of 300"):
        assert printed in page


@pytest.mark.parametrize("text", NASTY)
def test_text_comes_back_from_the_page_unchanged(text):
    page = Reader(el("p", bdi(text), title=text))
    assert page.names == ["p", "bdi"]
    assert "".join(page.texts) == visible_text(text)
    assert page.attributes == [("p", "title", visible_text(text))]


def test_hidden_characters_become_visible():
    assert visible_text("a\x00\x1b\x7f\n") == "a␀␛␡␊"
    assert visible_text("\u202eab\u2066") == "[U+202E]ab[U+2066]"
    assert visible_text("x\u200bz\u2028\ufeff") == "x[U+200B]z[U+2028][U+FEFF]"
    assert visible_text("\ud800") == "\ufffd"
    assert visible_text("👩\u200d👧 न\u200cन") == "👩\u200d👧 न\u200cन"
    assert visible_text("שלום 🦉 é") == "שלום 🦉 é"


@pytest.mark.parametrize("text", [*NASTY, "\u2028\u2029", "<!--<script>"])
def test_a_data_block_cannot_be_left(text):
    block = data_block({"a": [text, None, 1.5]})
    inner = block[block.index(">") + 1 : block.rindex("</script>")]
    assert not set("<>&\u2028\u2029") & set(inner)
    assert json.loads(inner) == {"a": [text, None, 1.5]}


def test_markup_is_not_escaped_twice():
    assert el("p", Html("<b>x</b>"), "<") == "<p><b>x</b>&lt;</p>"


def test_a_mistake_shows_prediction_and_truth():
    page = Reader(drawing_html(tokens_drawing(wrong=1)))
    text = " ".join(page.texts)
    assert "predicted B-VP" in text
    assert "true B-NP" in text
    assert "✗ 1 wrong" in text


def test_nodes_of_trees_stand_as_far_in_as_they_are_deep():
    page = Reader(drawing_html(outline_drawing()))
    depths = [v for tag, key, v in page.attributes if tag == "li" and key == "style"]
    assert depths == ["--in:0", "--in:1", "--in:2"]
    text = " ".join(page.texts)
    assert text.index("root") < text.index("child") < text.index("grandchild")
    assert "predicted other" in text
    assert "true noun" in text
    assert ("ul", "class", "outline") in page.attributes


def test_long_trees_are_set_in_columns_and_deep_ones_stay_on_the_page():
    drawing = outline_drawing(names=[str(k) for k in range(500)])
    page = Reader(drawing_html(drawing))
    assert ("ul", "class", "outline long") in page.attributes
    assert page.names.count("li") == 400
    assert ("li", "style", "--in:40") in page.attributes
    assert "100 more nodes" in "".join(page.texts)


def test_reliability_is_drawn_and_told(run):
    page = Reader(write_report(run).read_text(encoding="utf-8"))
    assert page.texts.count("Reliability") == 2  # one a set of data
    assert page.texts.count("Reliability of the probabilities") == 2
    assert "4659" in page.texts


def test_a_likelihood_is_called_by_its_name(tmp_path):
    folder = make_run(tmp_path / "run")
    summary = json.loads((folder / "summary.json").read_text())
    calibration = {"temperature": 0.25, "n_samples": 40, "left_out": 0}
    changed = {"objective": "likelihood", "loss": None, "calibration": calibration}
    write(folder / "summary.json", summary | changed)
    with (folder / "config.toml").open("a") as config:
        config.write('loss = "hamming"\n')
    page = " ".join(Reader(write_report(folder).read_text(encoding="utf-8")).texts)
    assert "mean of -log P(true output)" in page
    assert "mean loss" not in page
    assert "0.25, from 40 samples" in page
    assert page.count("hamming") == 1  # in the settings to repeat it


def test_without_a_truth_nothing_is_wrong():
    drawing = tokens_drawing() | {"truth": [], "truth_known": False}
    assert "wrong" not in drawing_html(drawing)
    drawing = links_drawing("ab", "cd") | {"sure": [], "possible": [], "truth_known": False}
    assert "extra" not in drawing_html(drawing)


def test_captions_speak_of_what_is_drawn():
    def caption(**more):
        own = {"kind": "links", "title": "x", "errors": 0, "truth_known": True}
        sides = {"source": ["0"], "target": ["0", "1"], "sure": [[0, 0]], "predicted": [[0, 0]]}
        return str(drawings_html([own | sides | more]))

    plain = caption(possible=[[0, 0]])
    assert "a true link" in plain.replace("\n", " ")
    assert "possible" not in plain
    assert "sure" not in plain.replace('"m sure hit"', "")
    assert "possible link" in caption(possible=[[0, 0], [0, 1]])
    labels = {"kind": "tokens", "tokens": ["sea"], "truth": ["yes"], "predicted": ["no"]}
    assert "its tag" not in str(drawings_html([labels]))


def test_links_are_sorted_into_kinds():
    drawing = links_drawing(["a", "b", "c"], ["x", "y", "z"])
    page = Reader(drawing_html(drawing))
    kinds = [v for tag, key, v in page.attributes if tag == "i" and key == "class"]
    assert sorted(kinds) == sorted(
        ["m sure hit", "m sure hit", "m sure missed", "m maybe", "m maybe", "m extra"]
    )
    text = "".join(page.texts)
    assert "predicted, but not in the truth: c–x" in text  # noqa: RUF001
    assert "missed: c–z" in text  # noqa: RUF001


@pytest.mark.parametrize("kind", [*DRAWINGS, "other"])
@pytest.mark.parametrize("broken", [{}, {"tokens": 3}, {"height": 0, "width": -1, "images": [[]]}])
def test_a_broken_drawing_is_shown_as_its_values(kind, broken):
    html = drawing_html({"kind": kind, "title": SCRIPT, "source": None, **broken})
    assert "<pre" in html
    assert "<script" not in html


def test_pictures_keep_their_pixels():
    picture = ink_png([0, 1, 0.5, None, float("nan"), 7], 2, 3)
    at = picture.index(b"IDAT")
    size = struct.unpack(">I", picture[at - 4 : at])[0]
    rows = zlib.decompress(picture[at + 4 : at + 4 + size])
    alpha = [rows[1 + 1 :: 2][:3], rows[8 + 1 :: 2][:3]]
    assert alpha == [bytes([0, 255, 128]), bytes([0, 0, 255])]
    assert picture[16:24] == struct.pack(">II", 3, 2)


def test_all_pictures_of_a_word_are_drawn():
    page = Reader(drawing_html(images_drawing(np.random.default_rng(0), "word")))
    assert page.names.count("img") == 4
    assert "".join(page.texts).count("q") == 1


def pixels_of(uri):
    """Height, width, mode and pixels of a picture in an address."""
    from PIL import Image

    assert uri.startswith("data:image/png;base64,")
    with Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))) as image:
        return image.convert("RGBA")


def test_areas_are_coloured_by_prediction_truth_and_mistakes():
    rng = np.random.default_rng(0)
    drawing = areas_drawing(rng)
    codes = np.frombuffer(zlib.decompress(base64.b64decode(drawing["maps"][0]["codes"])), np.uint8)
    html = drawing_html(drawing)
    page = Reader(html)
    uris = [v for tag, key, v in page.attributes if tag == "img" and key == "src"]
    assert len(uris) == 1 + 2 * 3
    colours = np.asarray(pixels_of(uris[0]))[:, :, :3].tobytes()
    assert colours == zlib.decompress(base64.b64decode(drawing["picture"]))
    hexes = [bytes.fromhex(own[1:]) for own in COLOURS]
    roles = {1: [0, 1, 1, 0], 2: [0, 1, 0, 1], 3: [0, 1, 2, 3]}
    for k, shown in roles.items():
        found = np.asarray(pixels_of(uris[k])).reshape(-1, 4)
        for code, pixel in zip(codes.tolist(), found.tolist(), strict=True):
            assert pixel[3] == (255 if code else 0)
            assert not code or bytes(pixel[:3]) == hexes[shown[code - 1]]
    assert "".join(page.texts).count("mistakes") == 2
    assert "<script" not in html


def test_without_a_truth_only_the_prediction_is_drawn():
    drawing = areas_drawing(np.random.default_rng(0), picture=False) | {"truth_known": False}
    page = Reader(drawing_html(drawing))
    assert page.names.count("img") == 2
    assert "mistakes" not in "".join(page.texts)


@pytest.mark.parametrize(
    "change",
    [
        {"codes": packed(np.full(126, 5, np.uint8))},
        {"codes": packed(np.zeros(125, np.uint8))},
        {"codes": packed(np.zeros(1 << 26, np.uint8))},
        {"codes": "no base64 <"},
        {"codes": base64.b64encode(b"not packed").decode()},
        {"height": 10**6, "width": 10**6},
        {"height": -9, "width": -14},
        {"codes": None},
    ],
)
def test_maps_that_are_not_whole_are_shown_as_their_values(change):
    drawing = areas_drawing(np.random.default_rng(0))
    drawing["maps"][1] |= change
    html = drawing_html(drawing)
    assert "<pre" in html
    assert "<img" not in html
    assert "<script" not in html
    assert len(html) < 20_000


def test_no_drawings_no_heading():
    assert drawings_html([]) == ""


def test_confusion_shows_shares_of_the_row():
    html = confusion_html({"labels": ["a", "b"], "counts": [[3, 1], [0, 0]]})
    assert "1 (25.00\u202f% of the row)" in html
    assert "--v:0.50" in html  # the square root


def test_numbers_stand_right_and_sort_by_value():
    page = Reader(grid_html("t", ["name", "n"], [["x", 0.123456], ["y", None]]))
    assert [v for tag, key, v in page.attributes if key == "data-v"] == ["0.123456", ""]
    assert "0.1235" in page.texts


@pytest.mark.parametrize("most", [20, 100])
def test_thinning_keeps_both_ends(most):
    records = [{"epoch": k} for k in range(5000)]
    kept = [r["epoch"] for r in subsample_records(records, most)]
    assert len(kept) <= most
    assert kept[0] == 0
    assert kept[-1] == 4999
    assert kept == sorted(set(kept))
    assert subsample_records(records[:10], most) == records[:10]


def test_words_for_numbers():
    assert format_bounds(0.123456, 0.123457) == ("0.123456", "0.123457")
    assert format_bounds(0.5, 0.5) == ("0.5", "0.5")
    assert format_bounds(11.274517, 12.263949) == ("11.274", "12.264")
    assert format_bounds(-0.99999, 0) == ("-0.99999", "0")
    assert format_bounds(12345.61, 12345.74) == ("12\u202f345.61", "12\u202f345.74")
    assert [format_seconds(s) for s in (0.0123, 12.34, 125, 8000, None)] == [
        "12.3\u202fms",
        "12.3\u202fs",
        "2\u202fmin 5\u202fs",
        "2\u202fh 13\u202fmin",
        "–",  # noqa: RUF001
    ]
    assert [format_percent(p) for p in (0.5, 0, 1e-6, None)] == [
        "50.00\u202f%",
        "0.00\u202f%",
        "0.0001\u202f%",
        "–",  # noqa: RUF001
    ]
    assert format_count(1234567) == "1\u202f234\u202f567"
    assert format_time("no date") == "no date"


def themes():
    """Colours by name, of the light theme and of both ways to the dark one."""
    blocks = re.findall(r"color-scheme: (light|dark);(.*?)}", _assets(STYLES), re.S)
    return [(name, dict(re.findall(r"--([\w-]+): (#\w{6})", body))) for name, body in blocks]


def mixed(over, under, share):
    pairs = zip(bytes.fromhex(over[1:]), bytes.fromhex(under[1:]), strict=True)
    return "#" + bytes(round(share * a + (1 - share) * b) for a, b in pairs).hex()


def contrast(one, other):
    def light(colour):
        parts = [v / 255 for v in bytes.fromhex(colour[1:])]
        r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_both_ways_to_the_dark_theme_are_one():
    assert [name for name, _ in themes()] == ["light", "dark", "dark"]
    assert themes()[1][1] == themes()[2][1]


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_stand_out(theme):
    colours = themes()[theme][1]
    for name in ("ink", "soft", "accent", "bad", "good"):
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
        assert contrast(colours[name], colours["panel"]) >= 4.5, name
    for k in range(8):
        assert contrast(colours[f"c{k}"], colours["paper"]) >= 3, k


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("kind", ["hit", "miss"])
def test_counts_can_be_read_on_every_shade(theme, kind):
    colours = themes()[theme][1]
    for k in range(101):
        ground = mixed(colours[f"heat-{kind}"], colours["paper"], k / 100)
        name = (("cool", *heat_classes(kind, k / 100)))[-1]
        assert contrast(colours[name], ground) >= 4.5, k
