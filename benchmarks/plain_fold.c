/* Best nested pairs with scores of loops as one would write it: float64, value only.
 * Same model as NestedPairs with K symbols; tied as there. pair (n, n): scores, -inf forbidden. */
#include <math.h>
#include <stdlib.h>

#define CAP 16
#define AT(i, j) ((i) * n + (j))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

double fold(const double *pair, const double *t, const long *s, int n, int k, double *chart)
{
    int k2 = k * k, k3 = k2 * k, k4 = k3 * k, base = 4 * k4 + 2 * k3 + 3 * k2, i, j, p, q, x;
    const double *ends = t + 4 * k4 + 2 * k3 + k2, *len = t + base, *after = t + 4 * k4;
    const double *before = after + k3, *multi = len + 31 + 51 + 16;
    double c = multi[2], *V = chart, *left = V + n * n, *single = left + n * n;
    double *far = single + n * n, *one = far + n * n, *two = one + n * n, *outer = two + n * n;
    for (i = 0; i < 6 * n * n; i++)
        chart[i] = -INFINITY;
#define BESIDE(x, y) (ends[s[x] * k + s[y]] + (x + 1 < n ? after[(s[x] * k + s[y]) * k + s[x + 1]] : 0) \
                      + (y > 0 ? before[(s[x] * k + s[y]) * k + s[y - 1]] : 0))
#define MISMATCH(x, y) t[2 * k4 + ((s[x] * k + s[y]) * k + s[x + 1]) * k + s[y - 1]]
    for (i = n - 1; i >= 0; i--)
        for (j = i + 1; j < n; j++) {
            double branch = -INFINITY, more = -INFINITY, v;
            if (pair[AT(i, j)] > -INFINITY) {
                int h = j - i - 1;
                double best = len[MIN(h, 30)];
                if (h <= 3)
                    best += ends[s[i] * k + s[j]];
                else
                    best += t[k4 + ((s[i] * k + s[j]) * k + s[i + 1]) * k + s[j - 1]];
                if (h == 4)
                    best += t[3 * k4 + ((s[i + 1] * k + s[i + 2]) * k + s[i + 3]) * k + s[i + 4]];
                if (i + 1 <= j - 1) {
                    double close = multi[0] + BESIDE(i, j);
                    v = close + MAX(two[AT(i + 1, j - 1)], far[AT(i + 1, j - 1)]);
                    best = MAX(best, v);
                    if (j - i > CAP + 3)
                        for (x = 0; x <= CAP; x++) {
                            v = close + (CAP + 1) * c + left[AT(i + 1 + x, j - CAP - 2 + x)];
                            best = MAX(best, v);
                        }
                }
                for (p = i + 1; p <= i + 1 + CAP && p < j - 1; p++)
                    for (q = MAX(p + 1, j - 1 - CAP + (p - i - 1)); q < j; q++) {
                        int a = p - i - 1, b = j - q - 1;
                        if (V[AT(p, q)] == -INFINITY)
                            continue;
                        v = V[AT(p, q)];
                        if (a + b < 2)
                            v += t[((s[i] * k + s[j]) * k + s[p]) * k + s[q]];
                        else
                            v += ends[s[i] * k + s[j]] + ends[s[q] * k + s[p]];
                        if (a == 0 || b == 0)
                            v += a + b ? len[31 + a + b] : 0;
                        else {
                            v += len[31 + 17 + a + b] + len[31 + 34 + abs(a - b)];
                            if (MAX(a, b) <= 4)
                                v += len[31 + 51 + (MIN(a, b) - 1) * 4 + MAX(a, b) - 1];
                            if (a == 1 && b == 1)
                                v += ends[k2 + s[i + 1] * k + s[j - 1]];
                            else if (a > 1 && b > 1)
                                v += MISMATCH(i, j) + MISMATCH(q, p);
                        }
                        best = MAX(best, v);
                    }
                V[AT(i, j)] = best + pair[AT(i, j)] + ends[s[i] * k + s[j] - k2];
                branch = V[AT(i, j)] + multi[1] + BESIDE(j, i);
            }
            for (p = i + 1; p < j; p++)
                if (V[AT(p, j)] > -INFINITY) {
                    v = one[AT(i, p - 1)] + V[AT(p, j)] + multi[1] + BESIDE(j, p);
                    more = MAX(more, v);
                }
            left[AT(i, j)] = MAX(left[AT(i, j - 1)] + c, branch);
            single[AT(i, j)] = MAX((i + 1 < n ? single[AT(i + 1, j)] : -INFINITY) + c, branch);
            if (i + CAP + 1 < n) {
                v = (CAP + 1) * c + left[AT(i + CAP + 1, j)];
                far[AT(i, j)] = MAX(far[AT(i + 1, j)] + c, v);
            }
            two[AT(i, j)] = MAX(two[AT(i, j - 1)] + c, more);
            more = MAX(more, single[AT(i, j)]);
            one[AT(i, j)] = MAX(one[AT(i, j - 1)] + c, more);
        }
    outer[0] = 0.0;
    for (j = 0; j < n; j++) {
        outer[j + 1] = outer[j] + multi[4];
        for (i = 0; i < j; i++)
            if (V[AT(i, j)] > -INFINITY) {
                double v = outer[i] + V[AT(i, j)] + multi[3] + BESIDE(j, i);
                outer[j + 1] = MAX(outer[j + 1], v);
            }
    }
    return outer[n];
}
