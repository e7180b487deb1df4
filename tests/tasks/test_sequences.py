"""Tables that tasks on label sequences share."""

from maxmargin.tasks.sequences import confused_table, unknown_note


def test_rare_mistakes_are_counted_not_listed():
    letters = [chr(97 + k) for k in range(20)]
    truth = [["x"] * 3 + letters]
    predicted = [["y"] * 3 + letters[1:] + letters[:1]]
    table = confused_table(truth, predicted, "Labels are pooled.")
    assert table["rows"][0] == ["x", "y", 3]
    assert len(table["rows"]) == 15
    assert table["note"] == "6 more pairs of labels, 6 times in all. Labels are pooled."
    few = confused_table([letters[:15]], [letters[1:16]])
    assert len(few["rows"]) == 15
    assert few["note"] == ""


def test_samples_with_labels_that_were_not_learned_are_counted():
    truth = [["a", "b"], ["a", "c", "c"], ["b", "a"]]
    note = unknown_note(truth, ["a", "b"], "tree")
    assert note == (
        "1 of 3 trees has labels that the model has not learned, which count as wrong: c."
    )
    assert unknown_note(truth, ["a", "b", "c"], "tree") == ""
    many = unknown_note([[f"{k:02}" for k in range(12)]] * 2, ["a"], "network")
    assert many.startswith("2 of 2 networks have labels")
    assert many.endswith("08, 09 and 2 more.")
