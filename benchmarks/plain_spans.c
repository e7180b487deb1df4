/* Best binary tree over words with a score for each span, as one would write it. */
#include <math.h>

/* theta: scores of spans, sorted by begin, then end; chart, split: (n + 1)^2. */
double best_spans(const double *theta, int n, double *chart, int *split)
{
    int size = n + 1, width, i, k;
    for (width = 1; width <= n; width++)
        for (i = 0; i + width <= n; i++) {
            int j = i + width;
            double best = width == 1 ? 0.0 : -INFINITY;
            for (k = i + 1; k < j; k++) {
                double v = chart[i * size + k] + chart[k * size + j];
                if (v > best) {
                    best = v;
                    split[i * size + j] = k;
                }
            }
            chart[i * size + j] = best + theta[i * n - i * (i - 1) / 2 + width - 1];
        }
    return chart[n];
}
