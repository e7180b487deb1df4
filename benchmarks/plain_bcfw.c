/* Textbook block-coordinate Frank-Wolfe on chains, in the space of weights: one w_i per sample.
 * The measure that our passes are compared with; one thread, no tricks.
 * Weights: W (K x P, label-major), transitions (K x K), first (K), last (K).
 */
#include <stdlib.h>
#include <string.h>

static void features(const double *x, const int *y, int T, int K, int P, double sign, double *f) {
    double *pair = f + (size_t)K * P, *first = pair + K * K, *last = first + K;
    for (int t = 0; t < T; t++) {
        double *row = f + (size_t)y[t] * P;
        for (int p = 0; p < P; p++) row[p] += sign * x[(size_t)t * P + p];
        if (t > 0) pair[y[t - 1] * K + y[t]] += sign;
    }
    first[y[0]] += sign;
    last[y[T - 1]] += sign;
}

static void oracle(const double *w, const double *x, const int *y, int T, int K, int P,
                   double *score, double *best, int *back, int *out) {
    const double *pair = w + (size_t)K * P, *first = pair + K * K, *last = first + K;
    for (int t = 0; t < T; t++)
        for (int k = 0; k < K; k++) {
            double s = 0;
            const double *row = w + (size_t)k * P, *pixel = x + (size_t)t * P;
            for (int p = 0; p < P; p++) s += row[p] * pixel[p];
            if (t == 0) s += first[k];
            if (t == T - 1) s += last[k];
            score[t * K + k] = s + (k != y[t] ? 1.0 / T : 0.0);
        }
    memcpy(best, score, K * sizeof(double));
    for (int t = 1; t < T; t++)
        for (int k = 0; k < K; k++) {
            double high = best[(t - 1) * K] + pair[k];
            int arg = 0;
            for (int j = 1; j < K; j++) {
                double v = best[(t - 1) * K + j] + pair[j * K + k];
                if (v > high) { high = v; arg = j; }
            }
            best[t * K + k] = high + score[t * K + k];
            back[t * K + k] = arg;
        }
    int arg = 0;
    for (int k = 1; k < K; k++)
        if (best[(T - 1) * K + k] > best[(T - 1) * K + arg]) arg = k;
    for (int t = T - 1; t >= 0; t--) {
        out[t] = arg;
        if (t > 0) arg = back[t * K + arg];
    }
}

/* One pass in the given order. wi: n x d, li: n, w: d, l: 1; all start at zero. */
void bcfw_pass(const double *x, const int *y, const long *start, const long *order, long n, int K,
               int P, double lambda, double *wi, double *li, double *w, double *l, int longest) {
    size_t d = (size_t)K * P + K * K + 2 * K;
    double *ws = malloc(d * sizeof(double)), *score = malloc(sizeof(double) * longest * K);
    double *best = malloc(sizeof(double) * longest * K);
    int *back = malloc(sizeof(int) * longest * K), *out = malloc(sizeof(int) * longest);
    for (long o = 0; o < n; o++) {
        long i = order[o];
        int T = (int)(start[i + 1] - start[i]);
        const double *xi = x + start[i] * P;
        const int *yi = y + start[i];
        oracle(w, xi, yi, T, K, P, score, best, back, out);
        memset(ws, 0, d * sizeof(double));
        features(xi, yi, T, K, P, 1.0 / (lambda * n), ws);
        features(xi, out, T, K, P, -1.0 / (lambda * n), ws);
        double loss = 0;
        for (int t = 0; t < T; t++) loss += out[t] != yi[t];
        loss /= (double)T * n;
        double *own = wi + (size_t)i * d, up = loss - li[i], down = 0;
        for (size_t k = 0; k < d; k++) {
            double diff = own[k] - ws[k];
            up += lambda * diff * w[k];
            down += lambda * diff * diff;
        }
        double gamma = down > 0 ? up / down : 0;
        gamma = gamma < 0 ? 0 : gamma > 1 ? 1 : gamma;
        for (size_t k = 0; k < d; k++) {
            double change = gamma * (ws[k] - own[k]);
            own[k] += change;
            w[k] += change;
        }
        *l += gamma * (loss - li[i]);
        li[i] += gamma * (loss - li[i]);
    }
    free(ws); free(score); free(best); free(back); free(out);
}
