/* Eisner's algorithm as one would write it: float64, back-pointers, one root. */
#include <math.h>

#define AT(s, t) ((s) * size + (t))

static void trace(int kind, int s, int t, int size, const int *split, int *heads)
{
    int square = size * size, q;
    if (s == t)
        return;
    q = split[kind * square + AT(s, t)];
    if (kind == 0) { /* complete, head s */
        trace(2, s, q, size, split, heads);
        trace(0, q, t, size, split, heads);
    } else if (kind == 1) { /* complete, head t */
        trace(1, s, q, size, split, heads);
        trace(3, q, t, size, split, heads);
    } else {
        if (kind == 2)
            heads[t - 1] = s;
        else
            heads[s - 1] = t;
        trace(0, s, q, size, split, heads);
        trace(1, q + 1, t, size, split, heads);
    }
}

/* theta (n, n + 1): row word, column head. chart: 4 (n + 1)^2, split the same of integers. */
double eisner(const double *theta, int n, double *chart, int *split, int *heads)
{
    int size = n + 1, square = size * size, s, t, q, width;
    double *right = chart, *left = chart + square, *right_arc = chart + 2 * square;
    double *left_arc = chart + 3 * square;
    for (s = 0; s < size; s++)
        right[AT(s, s)] = left[AT(s, s)] = 0.0;
    for (width = 1; width < size; width++)
        for (s = 0; s + width < size; s++) {
            double best = -INFINITY, v;
            int where = s, last;
            t = s + width;
            last = s == 0 ? 0 : t - 1;
            for (q = s; q <= last; q++) {
                v = right[AT(s, q)] + left[AT(q + 1, t)];
                if (v > best) { best = v; where = q; }
            }
            right_arc[AT(s, t)] = best + theta[(t - 1) * size + s];
            split[2 * square + AT(s, t)] = split[3 * square + AT(s, t)] = where;
            if (s > 0) {
                left_arc[AT(s, t)] = best + theta[(s - 1) * size + t];
                best = -INFINITY;
                for (q = s; q < t; q++) {
                    v = left[AT(s, q)] + left_arc[AT(q, t)];
                    if (v > best) { best = v; where = q; }
                }
                left[AT(s, t)] = best;
                split[square + AT(s, t)] = where;
            }
            best = -INFINITY;
            for (q = s + 1; q <= t; q++) {
                v = right_arc[AT(s, q)] + right[AT(q, t)];
                if (v > best) { best = v; where = q; }
            }
            right[AT(s, t)] = best;
            split[AT(s, t)] = where;
        }
    trace(0, 0, n, size, split, heads);
    return right[n];
}
