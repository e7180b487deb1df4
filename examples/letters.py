"""Read words letter by letter with a chain: choose alpha on held-out words, then test.

    python examples/letters.py                       # synthetic words
    python examples/letters.py --data PATH           # the handwritten words of letter.data

Fold 0 is for testing, fold 1 for choosing alpha, the other eight are for training. From one alpha
to the next, `warm_start` begins where the last fit ended.
"""

import argparse
from copy import copy

from maxmargin import ChainSVM
from maxmargin.datasets import load_letters, make_words
from maxmargin.metrics import sequence_error, token_error


def split(data):
    """Training, held-out and test words, each a pair X, y."""

    def pick(chosen):
        kept = [i for i, fold in enumerate(data.fold) if chosen(fold)]
        return [data.X[i] for i in kept], [data.y[i] for i in kept]

    return pick(lambda fold: fold > 1), pick(lambda fold: fold == 1), pick(lambda fold: fold == 0)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="letter.data, letter.data.gz or the folder they are in")
    parser.add_argument("--words", type=int, default=2000, help="synthetic words to draw")
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.1, 0.03, 0.01, 0.003])
    options = parser.parse_args(argv)
    data = load_letters(options.data) if options.data else make_words(options.words)
    (X, y), (X_held, y_held), (X_test, y_test) = split(data)
    print(f"{len(X)} words to train on, {len(X_held)} held out, {len(X_test)} to test on")

    model = ChainSVM(tol=0.01, warm_start=True)
    best, least = None, float("inf")
    for alpha in sorted(options.alphas, reverse=True):  # large ones are quick and lead to the next
        model.set_params(alpha=alpha).fit(X, y)
        error = token_error(y_held, model.predict(X_held))
        print(f"alpha {alpha:<8g} held-out letter error {100 * error:5.2f} %", end="   ")
        print(f"{model.result_.n_epochs} epochs, {model.result_.state.seconds:.1f} s")
        if error < least:
            best, least = copy(model), error

    read = best.predict(X_test)
    print(f"chosen: alpha {best.alpha:g}, {best.result_.certificate()}")
    print(f"test letter error {100 * token_error(y_test, read):.2f} %,", end=" ")
    print(f"test word error {100 * sequence_error(y_test, read):.2f} %")


if __name__ == "__main__":
    main()
