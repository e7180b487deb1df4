/* Best global alignment with affine gaps as one would write it: float64, a byte of back-pointers. */
#include <math.h>

/* match (m, n); opened, further: scores of gaps; rows: 3 (n + 1); back: (m + 1) (n + 1).
   Returns the score, and writes the partner of each symbol of the first string, or -1. */
double gotoh(const double *match, int m, int n, double opened, double further, double *rows,
             unsigned char *back, int *partner)
{
    double *M = rows, *X = rows + n + 1, *Y = rows + 2 * (n + 1), best, diagonal, x, y;
    int i, j, kind, size = n + 1;
    for (i = 0; i <= m; i++) {
        diagonal = -INFINITY;
        for (j = 0; j <= n; j++) {
            unsigned char code = 0;
            double own = -INFINITY;
            if (i && j)
                own = diagonal + match[(i - 1) * n + j - 1];
            else if (!i && !j)
                own = 0.0;
            diagonal = -INFINITY;
            if (i) { /* what is before a match from the node above: its row is overwritten here */
                best = M[j];
                kind = 0;
                if (X[j] > best) { best = X[j]; kind = 1; }
                if (Y[j] > best) { best = Y[j]; kind = 2; }
                diagonal = best;
                x = best + opened;
                if (X[j] + further > x) { x = X[j] + further; kind = 1; }
                X[j] = x;
                code |= kind << 2;
            } else
                X[j] = -INFINITY;
            if (j) {
                best = M[j - 1];
                kind = 0;
                if (X[j - 1] > best) { best = X[j - 1]; kind = 1; }
                y = best + opened;
                if (Y[j - 1] + further > y) { y = Y[j - 1] + further; kind = 2; }
                Y[j] = y;
                code |= kind << 4;
            } else
                Y[j] = -INFINITY;
            M[j] = own;
            best = own;
            kind = 0;
            if (X[j] > best) { best = X[j]; kind = 1; }
            if (Y[j] > best) { best = Y[j]; kind = 2; }
            back[i * size + j] = code | kind;
        }
    }
    best = M[n] > X[n] ? M[n] : X[n];
    best = Y[n] > best ? Y[n] : best;
    for (i = 0; i < m; i++)
        partner[i] = -1;
    i = m;
    j = n;
    kind = back[m * size + n] & 3;
    while (i || j) {
        if (kind == 0) {
            partner[--i] = --j;
            kind = back[i * size + j] & 3;
        } else if (kind == 1) {
            kind = back[i * size + j] >> 2 & 3;
            i--;
        } else {
            kind = back[i * size + j] >> 4 & 3;
            j--;
        }
    }
    return best;
}
