"""Words as they are looked up: lower case, no accents, brackets for their treebank escapes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

_ESCAPES = {
    "-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}",
    "``": '"', "''": '"',
}  # fmt: skip


def plain_word(word: str) -> str:
    """Lower-cased, accents stripped, treebank escapes such as -LRB- undone.

    >>> plain_word("Était"), plain_word("-LRB-")
    ('etait', '(')
    """
    word = word.lower()
    if not word.isascii():
        apart = unicodedata.normalize("NFD", word)
        word = "".join(c for c in apart if not unicodedata.combining(c)) or word
    return _ESCAPES.get(word, word)


class Vocabulary:
    """Numbers of words by their plain form; what the words were called before is remembered.

    `add` numbers new words, `find` gives -1 to words that have no number.
    """

    def __init__(self, words: Sequence[str] = (), prefix: int | None = None):
        self.prefix = prefix
        self.words = list(words)
        self._number = {word: k for k, word in enumerate(self.words)}
        self._seen: dict[str, int] = {}  # as written -> number, so that each is made plain once

    def _plain(self, word: str) -> str:
        return plain_word(word)[: self.prefix]

    def add(self, tokens: Sequence[str]) -> list[int]:
        """The numbers of words, new ones included."""
        seen = self._seen
        try:
            return [seen[word] for word in tokens]
        except KeyError:
            pass
        for word in tokens:
            if word not in seen:
                plain = self._plain(word)
                number = self._number.setdefault(plain, len(self.words))
                if number == len(self.words):
                    self.words.append(plain)
                seen[word] = number
        return [seen[word] for word in tokens]

    def find(self, tokens: Iterable[str]) -> list[int]:
        """The numbers of words, -1 for unknown ones."""
        return [self._number.get(self._plain(word), -1) for word in tokens]
