"""Computer graphics: shading, curves, rotations, meshes, distance fields."""

from dataclasses import dataclass

import numpy as np

from people._case import case


def normalize(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


@dataclass(frozen=True)
class Material:
    diffuse: np.ndarray
    specular: float = 0.5
    shininess: int = 8


def hit_sphere(origin, direction, centre, radius):
    oc = origin - centre
    b = oc @ direction
    disc = b * b - (oc @ oc - radius**2)
    if disc < 0:
        return None
    return -b - np.sqrt(disc)


@case(
    lambda rng: (
        [(np.array([-0.3, 0.1, 4.0]), 1.1), (np.array([0.9, -0.2, 3.0]), 0.52)],
        np.array([2.0, 3.0, -1.0]),
        np.array([0.8, 0.3, 0.2]),
    ),
    wrt=(0, 1, 2),
)
def phong_spheres(spheres, light, colour):
    material = Material(diffuse=colour, shininess=6)
    eye = np.zeros(3)
    picture = []
    for y in np.linspace(-0.2, 0.2, 3):
        for x in np.linspace(-0.28, 0.31, 4):
            ray = normalize(np.array([x, y, 1.0]))
            nearest, chosen = np.inf, None
            for centre, radius in spheres:
                t = hit_sphere(eye, ray, centre, radius)
                if t is not None and 1e-4 < t < nearest:
                    nearest, chosen = t, centre
            if chosen is None:
                picture.append(0.1 * np.ones(3))
                continue
            point = eye + nearest * ray
            n = normalize(point - chosen)
            to_light = normalize(light - point)
            lambert = max(n @ to_light, 0.0)
            mirror = 2 * (n @ to_light) * n - to_light
            highlight = max(-(mirror @ ray), 0.0) ** material.shininess
            picture.append(material.diffuse * lambert + material.specular * highlight)
    picture = np.array(picture)
    return np.mean(picture @ np.array([0.2126, 0.7152, 0.0722]))


def de_casteljau(points, t):
    if len(points) == 1:
        return points[0]
    return de_casteljau([(1 - t) * p + t * q for p, q in zip(points[:-1], points[1:], strict=True)], t)


@case(lambda rng: (rng.random((5, 2)) + np.arange(5)[:, None], {"ink": 0.4}), wrt=(0, 1))
def bezier_curve_length(control, pen):
    curve = np.array([de_casteljau(list(control), t) for t in np.linspace(0, 1, 12)])
    segments = curve[1:] - curve[:-1]
    length = np.hypot(segments[:, 0], segments[:, 1]).sum()
    heading = np.arctan2(segments[:, 1], segments[:, 0])
    bending = np.sum(np.diff(heading) ** 2)
    x, y = curve.T
    area = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
    return length + pen["ink"] * bending + area


def quaternion_product(p, q):
    w1, v1 = p[0], p[1:]
    w2, v2 = q[0], q[1:]
    return np.append(w1 * w2 - v1 @ v2, w1 * v2 + w2 * v1 + np.cross(v1, v2))


def slerp(p, q, t):
    p, q = p / np.linalg.norm(p), q / np.linalg.norm(q)
    cosine = np.dot(p, q)
    if cosine < 0:
        q, cosine = -q, -cosine
    if cosine > 0.9995:
        return normalize((1 - t) * p + t * q)
    angle = np.arccos(cosine)
    return (np.sin((1 - t) * angle) * p + np.sin(t * angle) * q) / np.sin(angle)


@case(
    lambda rng: (
        np.array([1.0, 0.2, -0.1, 0.3]),
        np.array([-0.5, 0.7, 0.4, -0.2]),
        rng.standard_normal((6, 3)),
        rng.random((6, 3)),
    ),
    wrt=(0, 1, 2, 3),
)
def skinning(start, stop, vertices, weights):
    weights = weights / weights.sum(axis=1)[:, None]
    conjugate = np.array([1, -1, -1, -1])
    posed = np.zeros(vertices.shape)
    for bone, t in enumerate((0.0, 0.35, 1.0)):
        q = slerp(start, stop, t)
        turned = []
        for v in vertices:
            turned.append(quaternion_product(quaternion_product(q, np.insert(v, 0, 0.0)), q * conjugate)[1:])
        posed += weights[:, bone, np.newaxis] * np.array(turned)
    box = posed.max(axis=0) - posed.min(axis=0)
    return np.prod(box) ** (1 / 3) + np.sum(posed[::2] * posed[1::2])


FACES = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
OCTAHEDRON = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])


@case(lambda rng: (OCTAHEDRON + 0.15 * rng.standard_normal((6, 3)), 0.4, -0.42), wrt=(0, 1, 2))
def taubin_smoothing(vertices, lam, mu, rounds=4):
    around = {}
    for a, b, c in FACES:
        for u, v in ((a, b), (b, c), (c, a)):
            around.setdefault(int(u), set()).add(int(v))
            around.setdefault(int(v), set()).add(int(u))
    V = vertices
    for k in range(2 * rounds):
        factor = lam if k % 2 == 0 else mu
        average = np.zeros_like(V)
        for i, ring in around.items():
            average[i] = V[sorted(ring)].mean(axis=0)
        V = V + factor * (average - V)
    p0, p1, p2 = V[FACES[:, 0]], V[FACES[:, 1]], V[FACES[:, 2]]
    normals = np.cross(p1 - p0, p2 - p0)
    area = 0.5 * np.sqrt((normals**2).sum(axis=1)).sum()
    volume = np.einsum("ij,ij->i", p0, np.cross(p1, p2)).sum() / 6
    return 36 * np.pi * volume**2 / area**3 + area


def scene(p, ball, torus, blend):
    d1 = np.linalg.norm(p - ball["centre"]) - ball["radius"]
    ring = np.hypot(p[0], p[2] - 3.0) - torus["major"]
    d2 = np.hypot(ring, p[1]) - torus["minor"]
    h = 0.5 + 0.5 * (d2 - d1) / blend
    h = min(max(h, 0.0), 1.0)
    return d2 * (1 - h) + d1 * h - blend * h * (1 - h)


@case(
    lambda rng: (
        {"centre": np.array([0.1, 0.2, 2.8]), "radius": 0.6},
        {"major": 0.9, "minor": 0.3},
        0.8,
    ),
    wrt=(0, 1, 2),
    tolerance=1e-5,
)
def sphere_tracing(ball, torus, blend):
    depths = []
    for x, y in [(0.0, 0.05), (0.1, 0.1), (-0.21, 0.02), (0.9, 0.8)]:
        ray = normalize(np.array([x, y, 1.0]))
        t = 0.0
        while t < 10.0:
            d = scene(t * ray, ball, torus, blend)
            if d < 1e-13 * t:
                break
            t = t + d
        depths.append(np.exp(-0.3 * t) if t < 10.0 else 0.0)
    return sum(depths)
