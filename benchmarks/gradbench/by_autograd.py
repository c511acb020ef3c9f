"""What a user of HIPS/autograd writes otherwise: no writes into arrays."""

import autograd
import autograd.numpy as anp

from benchmarks.gradbench.in_lists import lstm as lstm

NUMPY = anp


def ba(m):
    """Rows of all observations at once: of the sum of first errors, then of second ones."""

    def derivative(cameras, points, w, by, of, features):
        def total(k):
            return lambda *own: anp.sum(m.reprojection(*own, features)[:, k])

        own = cameras[by], points[of], w
        rows = [autograd.grad(total(k), (0, 1, 2))(*own) for k in range(2)]
        return [anp.stack(both, axis=1) for both in zip(*rows, strict=True)]

    return {"ba": derivative}


def gmm(m):
    def lower_triangles(entries, d):
        columns, rows = anp.triu_indices(d, 1)
        places = anp.full((d, d), len(rows))
        places[rows, columns] = anp.arange(len(rows))
        return anp.concatenate([entries, anp.zeros((entries.shape[0], 1))], axis=1)[:, places]

    m.lower_triangles = lower_triangles
    return {}


def ht(m):
    def angles_of(pose):
        rows = [[0.0, 0.0, 0.0]] * 2
        for f in range(6, 26, 4):
            rows += [[pose[f], pose[f + 1], 0.0], [pose[f + 2], 0.0, 0.0], [pose[f + 3], 0.0, 0.0], [0.0, 0.0, 0.0]]
        return anp.array(rows)

    m.angles_of = angles_of
    return {}


def kmeans(m):
    def derivative(points, centroids):
        gradient = autograd.grad(m.kmeans, 1)
        return gradient(points, centroids), autograd.grad(lambda c: anp.sum(gradient(points, c)))(centroids)

    return {"kmeans": derivative}


def particle(m):
    m.slope = autograd.grad(m.potential)
    return {}


def saddle(m):
    m.slope = autograd.grad(m.function, 1)
    return {}
