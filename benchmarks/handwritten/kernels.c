// Value and gradient of four kernels, as a person would write them who knows what they are: in place, without a tape.
// Each works on a copy of its arguments, which it may change; "gradient" is written as a whole.
#include <math.h>
#include <string.h>

static double sum(const double *x, long n) {
    double s = 0;
    for (long i = 0; i < n; i++) s += x[i];
    return s;
}

static void fill(double *x, long n, double value) {
    for (long i = 0; i < n; i++) x[i] = value;
}

double cholesky(long n, double *restrict A, double *restrict G) {
    for (long i = 0; i < n; i++) {
        double *Ai = A + i * n;
        for (long j = 0; j <= i; j++) {
            const double *Aj = A + j * n;
            double s = 0;
            for (long k = 0; k < j; k++) s += Ai[k] * Aj[k];
            Ai[j] = j < i ? (Ai[j] - s) / Aj[j] : sqrt(Ai[j] - s);
        }
    }
    fill(G, n * n, 1);
    for (long i = n - 1; i >= 0; i--) {
        double *Ai = A + i * n, *Gi = G + i * n;
        Gi[i] *= 0.5 / Ai[i];
        for (long k = 0; k < i; k++) Gi[k] -= 2 * Gi[i] * Ai[k];
        for (long j = i - 1; j >= 0; j--) {
            const double *Aj = A + j * n;
            double *Gj = G + j * n;
            const double g = Gi[j] / Aj[j];
            Gi[j] = g;
            Gj[j] -= g * Ai[j];
            for (long k = 0; k < j; k++) {
                Gi[k] -= g * Aj[k];
                Gj[k] -= g * Ai[k];
            }
        }
    }
    return sum(A, n * n);
}

double seidel_2d(long steps, long n, double *restrict A, double *restrict G) {
    double row[n + 1];
    for (long t = 0; t < steps - 1; t++)
        for (long i = 1; i < n - 1; i++) {
            double *r = A + i * n;
            const double *u = r - n, *d = r + n;
            for (long j = 1; j < n - 1; j++)
                row[j] = u[j - 1] + u[j] + u[j + 1] + r[j] + r[j + 1] + d[j - 1] + d[j] + d[j + 1];
            for (long j = 1; j < n - 1; j++) r[j] = (row[j] + r[j - 1]) * (1.0 / 9);
        }
    fill(G, n * n, 1);
    for (long t = 0; t < steps - 1; t++)
        for (long i = n - 2; i > 0; i--) {
            double *restrict r = G + i * n, *restrict u = G + i * n - n, *restrict d = G + i * n + n;
            row[0] = row[n - 1] = row[n] = 0;
            for (long j = n - 2; j > 0; j--) row[j] = (r[j] + row[j + 1]) * (1.0 / 9);
            r[0] += row[1];
            r[n - 1] += row[n - 2];
            for (long j = 1; j < n - 1; j++) r[j] = row[j] + row[j - 1];
            u[0] += row[1];
            d[0] += row[1];
            for (long j = 1; j < n; j++) {
                const double s = row[j - 1] + row[j] + row[j + 1];
                u[j] += s;
                d[j] += s;
            }
        }
    return sum(A, n * n);
}

// The stencils are their own transposes inside; what they add to the boundary is beside that. Cotangents of what a step
// overwrites are zero before it, so that each step backwards sets the inner elements, of an array with a boundary of zeros.
static void means(long n, const double *restrict x, double *restrict y) {
    for (long i = 1; i < n - 1; i++) {
        const double *r = x + i * n, *u = r - n, *d = r + n;
        for (long j = 1; j < n - 1; j++) y[i * n + j] = 0.2 * (r[j] + r[j - 1] + r[j + 1] + u[j] + d[j]);
    }
}

static void edges_2d(long n, double factor, const double *restrict x, double *restrict edge) {
    for (long j = 1; j < n - 1; j++) {
        edge[j] += factor * x[n + j];
        edge[(n - 1) * n + j] += factor * x[(n - 2) * n + j];
        edge[j * n] += factor * x[j * n + 1];
        edge[j * n + n - 1] += factor * x[j * n + n - 2];
    }
}

double jacobi_2d(long steps, long n, double *A, double *B, double *GA, double *GB, double *a, double *b) {
    for (long t = 1; t < steps; t++) {
        means(n, A, B);
        means(n, B, A);
    }
    const long size = n * n;
    memset(a, 0, size * sizeof(double));
    memset(b, 0, size * sizeof(double));
    fill(GA, size, 1);
    fill(GB, size, 1);
    for (long i = 1; i < n - 1; i++) fill(a + i * n + 1, n - 2, 1);
    for (long t = 1; t < steps; t++) {
        means(n, a, b);
        if (t == 1)
            for (long i = 1; i < n - 1; i++)
                for (long j = 1; j < n - 1; j++) b[i * n + j] += 1;
        edges_2d(n, 0.2, a, GB);
        means(n, b, a);
        edges_2d(n, 0.2, b, GA);
    }
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++) {
            GA[i * n + j] = a[i * n + j];
            GB[i * n + j] = steps > 1 ? 0 : 1;
        }
    return sum(A, size) + sum(B, size);
}

static void diffused(long n, const double *restrict x, double *restrict y) {
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++) {
            const long at = (i * n + j) * n;
            const double *r = x + at;
            for (long k = 1; k < n - 1; k++)
                y[at + k] = 0.25 * r[k] + 0.125 * (r[k - 1] + r[k + 1] + r[k - n] + r[k + n] + r[k - n * n] + r[k + n * n]);
        }
}

static void faces(long n, const double *restrict x, double *restrict face) {
    const long slab = n * n, end = n - 1;
    for (long i = 1; i < end; i++)
        for (long j = 1; j < end; j++) {
            face[i * n + j] += 0.125 * x[slab + i * n + j];
            face[end * slab + i * n + j] += 0.125 * x[(end - 1) * slab + i * n + j];
            face[i * slab + j] += 0.125 * x[i * slab + n + j];
            face[i * slab + end * n + j] += 0.125 * x[i * slab + (end - 1) * n + j];
            face[i * slab + j * n] += 0.125 * x[i * slab + j * n + 1];
            face[i * slab + j * n + end] += 0.125 * x[i * slab + j * n + end - 1];
        }
}

double heat_3d(long steps, long n, double *A, double *B, double *GA, double *GB, double *a, double *b) {
    for (long t = 1; t < steps; t++) {
        diffused(n, A, B);
        diffused(n, B, A);
    }
    const long size = n * n * n;
    memset(a, 0, size * sizeof(double));
    memset(b, 0, size * sizeof(double));
    fill(GA, size, 1);
    fill(GB, size, 1);
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++) fill(a + (i * n + j) * n + 1, n - 2, 1);
    for (long t = 1; t < steps; t++) {
        diffused(n, a, b);
        if (t == 1)
            for (long i = 1; i < n - 1; i++)
                for (long j = 1; j < n - 1; j++)
                    for (long k = 1; k < n - 1; k++) b[(i * n + j) * n + k] += 1;
        faces(n, a, GB);
        diffused(n, b, a);
        faces(n, b, GA);
    }
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            for (long k = 1; k < n - 1; k++) {
                GA[(i * n + j) * n + k] = a[(i * n + j) * n + k];
                GB[(i * n + j) * n + k] = steps > 1 ? 0 : 1;
            }
    return sum(A, size) + sum(B, size);
}
