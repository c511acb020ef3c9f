// Value and gradient of four programs of GradBench, as a person would write them who knows what they are. Each is given
// sizes, its arguments, arrays for gradients (null where only the value is wanted), and room to work in.
#include <math.h>
#include <string.h>

enum { BLOCK = 16 };

// Points in blocks; powers grow from one coefficient to the next.
double llsq(long n, long m, const double *x, const double *t, double *gx, double *room) {
    double total = 0;
    if (gx) memset(gx, 0, m * sizeof(double));
    for (long i = 0; i < n; i += BLOCK) {
        double at[BLOCK], power[BLOCK], r[BLOCK];
        for (long b = 0; b < BLOCK; b++) {
            const double ti = i + b < n ? t[i + b] : 0;
            at[b] = ti;
            power[b] = i + b < n;
            r[b] = (ti > 0) - (ti < 0);
        }
        for (long j = 0; j < m; j++)
            for (long b = 0; b < BLOCK; b++) {
                r[b] -= x[j] * power[b];
                power[b] *= at[b];
            }
        for (long b = 0; b < BLOCK; b++) {
            total += r[b] * r[b];
            power[b] = r[b];
        }
        for (long j = 0; gx && j < m; j++) {
            double s = 0;
            for (long b = 0; b < BLOCK; b++) {
                s += power[b];
                power[b] *= at[b];
            }
            gx[j] -= s;
        }
    }
    return 0.5 * total;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

// A layer at a character keeps eight rows: its input, output, memory, four gates, and the tanh of its new memory.
enum { INPUT, OUTPUT, MEMORY, FORGET, ENTER, LEAVE, CHANGE, TANH, KEPT };

static void cell(long b, const double *w, double *k, double *output, double *memory) {
    const double *bias = w + 4 * b;
    for (long i = 0; i < b; i++) {
        k[FORGET * b + i] = sigmoid(k[INPUT * b + i] * w[i] + bias[i]);
        k[ENTER * b + i] = sigmoid(k[OUTPUT * b + i] * w[b + i] + bias[b + i]);
        k[LEAVE * b + i] = sigmoid(k[INPUT * b + i] * w[2 * b + i] + bias[2 * b + i]);
        k[CHANGE * b + i] = tanh(k[OUTPUT * b + i] * w[3 * b + i] + bias[3 * b + i]);
        memory[i] = k[MEMORY * b + i] * k[FORGET * b + i] + k[ENTER * b + i] * k[CHANGE * b + i];
        k[TANH * b + i] = tanh(memory[i]);
        output[i] = k[LEAVE * b + i] * k[TANH * b + i];
    }
}

// Cotangents of output and memory become those before the cell; gx is the one of its input.
static void cell_backward(long b, const double *w, const double *k, double *gw, double *go, double *gm, double *gx) {
    double *gb = gw + 4 * b;
    for (long i = 0; i < b; i++) {
        const double f = k[FORGET * b + i], e = k[ENTER * b + i], l = k[LEAVE * b + i], c = k[CHANGE * b + i];
        const double th = k[TANH * b + i], x = k[INPUT * b + i], o = k[OUTPUT * b + i];
        const double g = gm[i] + go[i] * l * (1 - th * th);
        const double gl = go[i] * th * l * (1 - l), gf = g * k[MEMORY * b + i] * f * (1 - f);
        const double ge = g * c * e * (1 - e), gc = g * e * (1 - c * c);
        gw[i] += gf * x, gb[i] += gf;
        gw[b + i] += ge * o, gb[b + i] += ge;
        gw[2 * b + i] += gl * x, gb[2 * b + i] += gl;
        gw[3 * b + i] += gc * o, gb[3 * b + i] += gc;
        gx[i] = gf * w[i] + gl * w[2 * b + i];
        go[i] = ge * w[b + i] + gc * w[3 * b + i];
        gm[i] = g * f;
    }
}

double lstm(long layers, long n, long b, const double *weights, const double *extra, const double *start,
            const double *text, double *gw, double *ge, double *room) {
    double *state = room, *kept = state + 2 * layers * b, *shares = kept + KEPT * layers * n * b, total = 0;
    memcpy(state, start, 2 * layers * b * sizeof(double));
    for (long t = 0; t < n - 1; t++) {
        double *p = shares + t * b, sum = 2, dot = 0, wanted = 0;
        for (long i = 0; i < b; i++) p[i] = text[t * b + i] * extra[i];
        const double *x = p;
        for (long l = 0; l < layers; l++) {
            double *k = kept + (t * layers + l) * KEPT * b, *own = state + 2 * l * b;
            memcpy(k, x, b * sizeof(double));
            memcpy(k + OUTPUT * b, own, 2 * b * sizeof(double));
            cell(b, weights + 8 * l * b, k, own, own + b);
            x = own;
        }
        for (long i = 0; i < b; i++) {
            const double y = x[i] * extra[b + i] + extra[2 * b + i], to = text[(t + 1) * b + i];
            p[i] = exp(y);
            sum += p[i], dot += to * y, wanted += to;
        }
        total += dot - wanted * log(sum);
        for (long i = 0; i < b; i++) p[i] = text[(t + 1) * b + i] - wanted * p[i] / sum;
    }
    const double scale = -1.0 / ((n - 1) * b);
    if (!gw) return scale * total;
    double *g = shares + n * b, *gx = g + 2 * layers * b;
    memset(g, 0, 2 * layers * b * sizeof(double));
    memset(gw, 0, 8 * layers * b * sizeof(double));
    memset(ge, 0, 3 * b * sizeof(double));
    for (long t = n - 2; t >= 0; t--) {
        const double *p = shares + t * b, *last = kept + (t * layers + layers - 1) * KEPT * b;
        for (long i = 0; i < b; i++) {
            const double out = last[LEAVE * b + i] * last[TANH * b + i], gy = scale * p[i];
            ge[b + i] += gy * out;
            ge[2 * b + i] += gy;
            gx[i] = gy * extra[b + i];
        }
        for (long l = layers - 1; l >= 0; l--) {
            double *own = g + 2 * l * b;
            for (long i = 0; i < b; i++) own[i] += gx[i];
            cell_backward(b, weights + 8 * l * b, kept + (t * layers + l) * KEPT * b, gw + 8 * l * b, own, own + b, gx);
        }
        for (long i = 0; i < b; i++) ge[i] += gx[i] * text[t * b + i];
    }
    return scale * total;
}

// "constants" are the prior's normalization, gamma and m. A row of icf is q, and then the columns below the diagonal.
double gmm(long d, long k, long n, const double *alpha, const double *mu, const double *icf, const double *x,
           const double *constants, double *ga, double *gm, double *gi, double *room) {
    double *diagonal = room, *centred = diagonal + k * d, *scaled = centred + k * d, *term = scaled + k * d;
    double *offset = term + k, total = 0, most = alpha[0], sum = 0, prior = constants[0];
    const double gamma = constants[1], m = constants[2];
    const long width = d + d * (d - 1) / 2;
    for (long c = 0; c < k; c++) most = fmax(most, alpha[c]);
    for (long c = 0; c < k; c++) sum += exp(alpha[c] - most);
    for (long c = 0; c < k; c++) {
        const double *q = icf + c * width;
        double s = 0, squares = 0;
        for (long j = 0; j < d; j++) {
            diagonal[c * d + j] = exp(q[j]);
            s += q[j], squares += diagonal[c * d + j] * diagonal[c * d + j];
        }
        for (long j = d; j < width; j++) squares += q[j] * q[j];
        offset[c] = alpha[c] + s;
        prior += m * s - 0.5 * gamma * gamma * squares;
        if (!ga) continue;
        ga[c] = -n * exp(alpha[c] - most) / sum;
        for (long j = 0; j < d; j++) {
            gm[c * d + j] = 0;
            gi[c * width + j] = m - gamma * gamma * diagonal[c * d + j] * diagonal[c * d + j];
        }
        for (long j = d; j < width; j++) gi[c * width + j] = -gamma * gamma * q[j];
    }
    for (long i = 0; i < n; i++) {
        double highest = -1e300, shares = 0;
        for (long c = 0; c < k; c++) {
            const double *L = icf + c * width + d;
            double *restrict v = centred + c * d, *restrict s = scaled + c * d, square = 0;
            for (long j = 0; j < d; j++) {
                v[j] = x[i * d + j] - mu[c * d + j];
                s[j] = diagonal[c * d + j] * v[j];
            }
            for (long a = 0; a < d; a++) {
                for (long j = a + 1; j < d; j++) s[j] += L[j - a - 1] * v[a];
                L += d - a - 1;
            }
            for (long j = 0; j < d; j++) square += s[j] * s[j];
            term[c] = offset[c] - 0.5 * square;
            highest = fmax(highest, term[c]);
        }
        for (long c = 0; c < k; c++) shares += exp(term[c] - highest);
        total += highest + log(shares);
        for (long c = 0; ga && c < k; c++) {
            const double r = exp(term[c] - highest) / shares, *L = icf + c * width + d;
            const double *restrict v = centred + c * d, *restrict s = scaled + c * d;
            double *restrict gq = gi + c * width, *restrict gl = gq + d;
            ga[c] += r;
            for (long a = 0; a < d; a++) {
                const double e = diagonal[c * d + a], rv = r * v[a];
                double g = e * s[a];
                for (long j = a + 1; j < d; j++) {
                    g += L[j - a - 1] * s[j];
                    gl[j - a - 1] -= rv * s[j];
                }
                gq[a] += r - rv * e * s[a];
                gm[c * d + a] += r * g;
                L += d - a - 1, gl += d - a - 1;
            }
        }
    }
    return total - n * (most + log(sum)) - 0.5 * n * d * log(2 * M_PI) + prior;
}


// A rotation R by the vector r, of v; its derivative by r is -R [v] (r r' + (R' - 1) [r]) / |r|^2 (Gallego & Yezzi 2015).
static void rotate(const double *r, const double *v, double *y, double R[3][3], double by[3][3]) {
    const double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], angle = sqrt(square);
    const double a = angle > 0 ? sin(angle) / angle : 1, b = square > 0 ? (1 - cos(angle)) / square : 0.5;
    const double c = cos(angle), K[3][3] = {{0, -r[2], r[1]}, {r[2], 0, -r[0]}, {-r[1], r[0], 0}};
    const double V[3][3] = {{0, -v[2], v[1]}, {v[2], 0, -v[0]}, {-v[1], v[0], 0}};
    double S[3][3], T[3][3];
    for (long i = 0; i < 3; i++)
        for (long j = 0; j < 3; j++) R[i][j] = (i == j ? c : 0) + a * K[i][j] + b * r[i] * r[j];
    for (long i = 0; i < 3; i++) y[i] = R[i][0] * v[0] + R[i][1] * v[1] + R[i][2] * v[2];
    if (!by) return;
    for (long i = 0; i < 3; i++)
        for (long j = 0; j < 3; j++) {
            double s = r[i] * r[j] - K[i][j];
            for (long k = 0; k < 3; k++) s += R[k][i] * K[k][j];
            S[i][j] = square > 0 ? s / square : i == j;
        }
    for (long i = 0; i < 3; i++)
        for (long j = 0; j < 3; j++) T[i][j] = V[i][0] * S[0][j] + V[i][1] * S[1][j] + V[i][2] * S[2][j];
    for (long i = 0; i < 3; i++)
        for (long j = 0; j < 3; j++) by[i][j] = -(R[i][0] * T[0][j] + R[i][1] * T[1][j] + R[i][2] * T[2][j]);
}

// Errors of all observations are written to "errors"; blocks of the Jacobian have two rows each.
double ba(long p, const double *cameras, const double *points, const double *w, const long *camera, const long *point,
          const double *features, double *gc, double *gp, double *gw, double *errors) {
    for (long o = 0; o < p; o++) {
        const double *cam = cameras + 11 * camera[o], *x = points + 3 * point[o];
        const double v[3] = {x[0] - cam[3], x[1] - cam[4], x[2] - cam[5]};
        double y[3], R[3][3], by[3][3];
        rotate(cam, v, y, R, gc ? by : 0);
        const double u[2] = {y[0] / y[2], y[1] / y[2]}, square = u[0] * u[0] + u[1] * u[1];
        const double bent = 1 + square * (cam[9] + square * cam[10]), slope = 2 * (cam[9] + 2 * square * cam[10]);
        errors[2 * p + o] = 1 - w[o] * w[o];
        for (long e = 0; e < 2; e++) {
            const double error = u[e] * bent * cam[6] + cam[7 + e] - features[2 * o + e];
            errors[2 * o + e] = w[o] * error;
            if (!gc) continue;
            double *row = gc + (2 * o + e) * 11, to[3], *rp = gp + (2 * o + e) * 3;
            const double f = w[o] * cam[6];
            for (long a = 0; a < 2; a++) to[a] = f * (slope * u[e] * u[a] + (a == e ? bent : 0)) / y[2];
            to[2] = -(to[0] * u[0] + to[1] * u[1]);
            for (long j = 0; j < 3; j++) {
                row[j] = to[0] * by[0][j] + to[1] * by[1][j] + to[2] * by[2][j];
                rp[j] = to[0] * R[0][j] + to[1] * R[1][j] + to[2] * R[2][j];
                row[3 + j] = -rp[j];
            }
            row[6] = w[o] * u[e] * bent;
            row[7] = e == 0 ? w[o] : 0;
            row[8] = e == 1 ? w[o] : 0;
            row[9] = f * u[e] * square;
            row[10] = f * u[e] * square * square;
            gw[2 * o + e] = error;
        }
    }
    return 0;
}
