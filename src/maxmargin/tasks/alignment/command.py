"""The task `alignment`: links between the words of sentences that translate each other.

Files of links may cover only some of the sentences; the others, like those given by `parallel`, are
text to learn statistics of words from. Without any links by hand, the aligner learns from those of
its own two directed translation models: sure where both agree, possible where one has them. On the
Hansards that brings fewer errors than the links on which the two agree.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from maxmargin.exceptions import ModelFileError
from maxmargin.formats.text_lines import check_encoding
from maxmargin.metrics.links import Link
from maxmargin.persistence import load, save
from maxmargin.tasks import AlignmentFeatures, WordAligner, WordStatistics
from maxmargin.tasks.alignment.directed_links import directed_links
from maxmargin.tasks.alignment.files import (
    FORMATS,
    Numbered,
    Text,
    pairs_of,
    read_links,
    read_numbered,
    sample_pairs,
    split_batches,
    stream_pairs,
)
from maxmargin.tasks.alignment.tables import EvaluatedLinks, strongest_tables, text_tables
from maxmargin.tasks.command import Data, Option, TaskCommand
from maxmargin.tasks.documents import Evaluation, Table

log = logging.getLogger("maxmargin")

STATISTICS = "statistics.maxmargin"
#: option of WordStatistics -> option of the task
_OF_STATISTICS = {
    "mixture_rounds": "mixture-rounds",
    "hmm_rounds": "hmm-rounds",
    "stem_length": "stem-length",
    "max_length": "max-length",
}
BY_MODELS = "no links by hand were given; the links are those of the two directed models"


class AlignmentCommand(TaskCommand):
    """Word alignment, by `WordAligner`."""

    name: ClassVar[str] = "alignment"
    title: ClassVar[str] = "Word alignment"
    summary: ClassVar[str] = (
        "Which words of a sentence and of its translation go together: a bipartite matching."
    )
    data_help: ClassVar[str] = (
        "SOURCE TARGET [LINKS]: two files with one sentence a line, line k of one the translation"
        " of line k of the other (words separated by spaces; `<s snum=12> words </s>` is taken too;"
        " plain or gzip), and a file of links by hand: NAACL (lines `sentence i j S|P`, from 1) or"
        " Pharaoh (a line of `i-j` for each pair, from 0; `i?j` is a possible link). Sentences that"
        " a NAACL file does not mention are text without links. Without LINKS, the model learns"
        " from the links of two translation models, trained on the text itself."
    )
    predict_help: ClassVar[str] = (
        "Reads two files as for --data, or one with lines `source words ||| target words`, also"
        " from a pipe; writes a line of links `i-j` for each pair, counted from 0."
    )
    score_name: ClassVar[str] = "1 - AER"
    examples: ClassVar[tuple[str, ...]] = (
        "train alignment --data hand.en hand.fr hand.wa --parallel big.en big.fr --out RUN",
        "train alignment --data big.en big.fr --out RUN",
        "train alignment --data hand.en hand.fr hand.wa --statistics RUN --out RUN2",
        "predict RUN new.en new.fr > new.links",
        "evaluate RUN dev.en dev.fr dev.wa",
    )
    #: those of the study of 2019, and the simplest one beside them
    compared = ("dual-extragradient", "bcfw", "perceptron")
    options: ClassVar[tuple[Option, ...]] = (
        Option("encoding", str, "utf-8", "encoding of the files", of_data=True),
        Option(
            "links-format",
            FORMATS,
            "auto",
            "how LINKS is written: auto looks at its first link; naacl-null leaves out links to"
            " word 0; pharaoh-1 counts from 1",
            of_data=True,
        ),
        Option(
            "first-sentence",
            int,
            1,
            "number, in NAACL files, of the first sentence of a text without numbers of its own",
            of_data=True,
            kept=False,
        ),
        Option(
            "output-format",
            ("pharaoh", "naacl"),
            "pharaoh",
            "how predictions are written",
            of_data=True,
        ),
        Option(
            "max-words",
            int,
            200,
            "predictions for pairs with more words on a side are left empty, with a warning: memory"
            " grows with the product of both lengths",
            of_data=True,
        ),
        Option(
            "sample",
            int,
            2000,
            "without LINKS: how many pairs, drawn from the text, are learned from or evaluated",
            of_data=True,
        ),
        Option(
            "parallel",
            Path,
            (),
            "SOURCE TARGET: more text without links, for statistics of words; the more the better",
            many=True,
        ),
        Option(
            "statistics",
            Path,
            None,
            "RUN: take the statistics of words from that run of this task, or from a file of its"
            " model, and learn none from text",
            kept=False,
        ),
        Option(
            "max-links",
            int,
            1,
            "in how many links a word may be; 2 finds more of the links, and more wrong ones",
        ),
        Option("c-plus", float, 1.0, "price of a link that is not even possible"),
        Option("c-minus", float, 4.0, "price of a sure link that is missed"),
        Option("normalize", bool, False, "divide the prices of a pair by its number of sure links"),
        Option("frequent", int, 30, "how many frequent words have features of their own"),
        Option("mixture-rounds", int, 5, "rounds of training of IBM model 1"),
        Option("hmm-rounds", int, 5, "rounds of training of the HMM"),
        Option("stem-length", int, 5, "letters of a stem, for models of stems too; 0: none"),
        Option("max-length", int, 60, "text with more words a sentence is not learned from"),
    )

    # -- reading -----------------------------------------------------------------------------------
    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        """Pairs with their links; without a file of links, a sample of the pairs, outputs None."""
        options = self.with_defaults(options)
        if len(paths) not in (2, 3):
            raise ValueError(
                f"alignment takes two or three files, found {len(paths)}:"
                " SOURCE TARGET [LINKS], the sentences of both languages and the links."
            )
        encoding = check_encoding(options["encoding"])
        source, target = map(Path, paths[:2])
        parallel = self._parallel(options)
        if len(paths) == 2:
            text = Text(((source, target), *parallel), encoding)
            return self._without_links(text, options)
        pairs = read_numbered(source, target, encoding, options["first-sentence"])
        form = options["links-format"]
        links, found = read_links(Path(paths[2]), pairs, form, encoding)
        kept = [s for s, own in enumerate(links) if own is not None and all(pairs[s].pair)]
        if not kept:
            raise ValueError(f"{paths[2]}: found no links of any pair of {source} and {target}.")
        counts: dict[str, Any] = {"links": f"by hand, {Path(paths[2]).name} ({found})"}
        if len(kept) < len(pairs):
            counts["pairs without links"] = len(pairs) - len(kept)
        skip = frozenset(pairs[s].line for s in kept)
        other = len(pairs) - len(kept) if not parallel else None
        if other is not None and other < len(kept):
            skip = frozenset()  # too little text without links: all of it
        text = Text(((source, target), *parallel), encoding, skip)
        details = {"text": text, "known": options["statistics"]}
        data = Data([pairs[s].pair for s in kept], [links[s] for s in kept], counts, details)
        data.counts = _counted(data)
        return data

    def placed(self, name: str, path: Path) -> Path:
        """The file with the statistics, of a run folder."""
        if name != "statistics" or not path.is_dir():
            return path
        kept = path / "prepared" / STATISTICS
        return kept if kept.exists() else path / "model.maxmargin"

    def _parallel(self, options: Mapping[str, Any]) -> tuple[tuple[Path, Path], ...]:
        files = [Path(path) for path in options["parallel"]]
        if files and options["statistics"] is not None:
            raise ValueError(
                "parallel is text to learn statistics from, and statistics names those of another"
                " run; give one of them."
            )
        if len(files) % 2:
            raise ValueError(
                f"parallel has {len(files)} files, expected pairs of them: SOURCE TARGET."
            )
        return tuple(zip(files[::2], files[1::2], strict=True))

    def _without_links(self, text: Text, options: Mapping[str, Any]) -> Data:
        n, longest = options["sample"], options["max-length"]
        if n < 1:
            raise ValueError(f"sample={n} must be 1 or more: pairs to learn from.")
        pairs, seen = sample_pairs(pairs_of(*text.files[0], text.encoding), n, longest, seed=0)
        if not pairs:
            source, target = text.files[0]
            raise ValueError(
                f"{source} and {target} have no pair of sentences with 1 to {longest} words each."
            )
        counts = {"links": BY_MODELS, "pairs in the text": seen}
        data = Data(pairs, None, counts, {"text": text, "known": options["statistics"]})
        data.counts = _counted(data)
        return data

    def sized(self, options: Mapping[str, Any], n: int) -> dict[str, Any]:
        """Without links, as many pairs are drawn from the text as are asked for."""
        return {**options, "sample": max(n, self.with_defaults(options)["sample"])}

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        """Some of the pairs; text and statistics are shared with the data that they come from."""
        outputs = None if data.outputs is None else [data.outputs[s] for s in indices]
        part = Data([data.inputs[s] for s in indices], outputs, data.counts, data.details)
        part.counts = _counted(part)
        return part

    # -- learning ----------------------------------------------------------------------------------
    def estimator(self, options: Mapping[str, Any]) -> WordAligner:
        """A WordAligner with options for its statistics and features."""
        options = self.with_defaults(options)
        return WordAligner(
            max_links=options["max-links"],
            c_plus=options["c-plus"],
            c_minus=options["c-minus"],
            normalize=options["normalize"],
            features=AlignmentFeatures(frequent=options["frequent"]),
            statistics=WordStatistics(
                mixture_rounds=options["mixture-rounds"],
                hmm_rounds=options["hmm-rounds"],
                stem_length=options["stem-length"] or None,
                max_length=options["max-length"],
            ),
        )

    def fit(self, model: WordAligner, data: Data, folder: Path | None = None) -> None:
        """Fit statistics of the text, unless data.details or the folder has them, then the weights.

        Data without links are given those of the directed models (`data.outputs`).
        """
        self.prepare(model, data, folder)
        model.fit(data.inputs, data.outputs, parallel=data.details["statistics"])

    def prepare(self, model: WordAligner, data: Data, folder: Path | None = None) -> None:
        """Statistics of the text, and links by its models where there are none by hand."""
        self.label(data, self.statistics(model, data, folder))

    def statistics(
        self, model: WordAligner, data: Data, folder: Path | None = None
    ) -> WordStatistics:
        """Statistics of the text of `data`, fitted once; kept in data.details and in the folder."""
        wanted = model.statistics or WordStatistics()
        found = data.details.get("statistics")
        path = None if folder is None else Path(folder) / STATISTICS
        kept = path is not None and path.exists()
        if found is None and data.details.get("known") is not None:
            data.details["statistics"] = found = self._known(data.details["known"], wanted)
        if found is None and path is not None and kept:
            try:
                found = load(path)
            except ModelFileError as error:
                log.warning("%s Learning the statistics anew.", error)
                kept = False
        if found is None:
            log.info("learning statistics of words from text without links")
            found = WordStatistics(**_options(wanted))
            found.set_params(verbose=model.verbose, n_jobs=model.n_jobs)
            found.fit(data.details["text"])
            found.set_params(verbose=0, n_jobs=None)  # the same model, however it was made
        if not isinstance(found, WordStatistics) or _options(found) != _options(wanted):
            raise ValueError(
                f"{path if kept else 'data'}: the statistics of words were made with other options;"
                " delete them, or use another folder."
            )
        if path is not None and not kept and "statistics" not in data.details:
            save(found, path)
        data.details["statistics"] = found
        return found

    def _known(self, place: Path, wanted: WordStatistics) -> WordStatistics:
        """The statistics of another run, if they were made with the same options."""
        path = self.placed("statistics", Path(place))
        found = load(path)
        found = getattr(found, "statistics_", found)
        if not isinstance(found, WordStatistics) or not hasattr(found, "hmm_"):
            raise ValueError(f"{path}: has no statistics of words; name a run of this task.")
        for name, option in _OF_STATISTICS.items():
            old, new = (getattr(own, name) or 0 for own in (found, wanted))
            if old != new:
                raise ValueError(
                    f"{path}: the statistics were made with {option} {old}, not {new}; give"
                    f" --{option} {old}."
                )
        return found

    def label(self, data: Data, statistics: WordStatistics) -> None:
        """Give data without links those of the two directed models."""
        if data.outputs is None:
            data.outputs = directed_links(statistics, data.inputs)

    # -- using -------------------------------------------------------------------------------------
    def predict(
        self,
        model: WordAligner,
        sources: Sequence[BinaryIO],
        sink: BinaryIO,
        options: Mapping[str, Any],
    ) -> int:
        """Write the links of each pair as they are found, a few hundred pairs at a time."""
        options = self.with_defaults(options)
        encoding = check_encoding(options["encoding"])
        pairs_in = stream_pairs(sources, encoding, options["first-sentence"])
        write = _naacl_line if options["output-format"] == "naacl" else _pharaoh_line
        longest, count = options["max-words"], 0
        for batch in split_batches(pairs_in):
            for own in batch:
                _warn_if_long(own, longest)
            pairs = [([], []) if _longest(own) > longest else own.pair for own in batch]
            lines = [write(o, links) for o, links in zip(batch, model.predict(pairs), strict=True)]
            sink.write("".join(lines).encode("utf-8"))
            sink.flush()
            count += len(batch)
        return count

    def evaluate(self, model: WordAligner, data: Data, shown: int = 12) -> Evaluation:
        """AER, precision and recall; without links, how far the directed models agree."""
        numbered = (Numbered(s, s, pair) for s, pair in enumerate(data.inputs))
        parts = ([own.pair for own in batch] for batch in split_batches(numbered))
        predicted = list(chain.from_iterable(map(model.predict, parts)))
        known = data.outputs is not None
        truth = data.outputs or directed_links(model.statistics_, data.inputs)
        compared = EvaluatedLinks(data.inputs, predicted, truth)
        by_models = data.counts.get("links") == BY_MODELS
        name = "AER against the directed models" if by_models else "AER"
        return Evaluation(
            data=_counted(data),
            error=compared.aer if known else None,
            error_name=name,
            metrics=compared.metrics(name) if known else compared.agreement(),
            tables=compared.tables(model) if known else [],
            confusion=None,
            drawings=compared.drawings(shown, known),
        )

    def describe(self, model: WordAligner) -> list[Table]:
        """Strongest features, overall and by group; what the text without links has taught."""
        return [*strongest_tables(model), *text_tables(model)]


def _options(statistics: WordStatistics) -> dict[str, Any]:
    known = statistics.get_params().items()
    return {key: own for key, own in known if key not in ("verbose", "n_jobs")}


def _counted(data: Data) -> dict[str, Any]:
    """The counts of the data, with its present counts in front."""
    counts = {
        "sentence pairs": len(data.inputs),
        "source words": sum(len(source) for source, _ in data.inputs),
        "target words": sum(len(target) for _, target in data.inputs),
    }
    if data.outputs is not None:
        counts["sure links"] = sum(len(sure) for sure, _ in data.outputs)
        counts["possible links"] = sum(len(possible) for _, possible in data.outputs)
    return counts | {name: value for name, value in data.counts.items() if name not in counts}


def _longest(own: Numbered) -> int:
    return max(map(len, own.pair))


def _warn_if_long(own: Numbered, longest: int) -> None:
    if _longest(own) > longest:
        log.warning(
            "line %d: %d and %d words, more than max-words %d; left without links.",
            own.line,
            *map(len, own.pair),
            longest,
        )


def _pharaoh_line(own: Numbered, links: Sequence[Link]) -> str:
    return " ".join(f"{i}-{j}" for i, j in links) + "\n"


def _naacl_line(own: Numbered, links: Sequence[Link]) -> str:
    return "".join(f"{own.number} {i + 1} {j + 1} S\n" for i, j in links)
