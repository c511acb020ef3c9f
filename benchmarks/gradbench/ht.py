"""ADBench's hand tracking: distances of points from a posed hand, and the Jacobian by the 26 parameters of the pose.

A hand has a wrist, five fingers of four bones and a forearm; its vertices follow the bones by weights. The data are not
ADBench's: bones and vertices are random, of its sizes. In the complicated variant each point belongs to a place in a
triangle, with two coordinates. As it depends on no others, the Jacobian by a shift of all holds all derivatives.
"""

import numpy as np

from benchmarks.gradbench.program import Case

PARENTS = (-1, *(k for f in range(5) for k in (0, *range(4 * f + 1, 4 * f + 4))), 0)
BONES, POSE = len(PARENTS), 26


def model(vertices, rng):
    """Bones' places beside their parents, the inverses of places in space, vertices with ones, weights of bones."""
    relatives, places = np.tile(np.eye(4), (BONES, 1, 1)), []
    relatives[:, :3, 3] = rng.uniform(-1.0, 1.0, (BONES, 3))
    for k, parent in enumerate(PARENTS):
        places.append(relatives[k] if parent < 0 else places[parent] @ relatives[k])
    positions = np.concatenate([rng.uniform(-3.0, 3.0, (vertices, 3)), np.ones((vertices, 1))], axis=1)
    return relatives, np.linalg.inv(np.array(places)), positions, rng.dirichlet(np.full(BONES, 0.2), vertices)


def simple_inputs(size, rng):
    vertices, points = size
    hand, pose = model(vertices, rng), rng.uniform(-0.5, 0.5, POSE)
    return pose, *hand, rng.integers(0, vertices, points), rng.uniform(-3.0, 3.0, (points, 3))


def complicated_inputs(size, rng):
    pose, *hand, corners, points = simple_inputs(size, rng)
    corners = rng.integers(0, size[0], (size[1], 3))
    return np.zeros(2), pose, *hand, corners, points, rng.uniform(0.0, 0.5, (size[1], 2))


def angles_of(pose):
    """Angles of each bone: the first joint of a finger has two, the others one."""
    angles = np.zeros((BONES, 3))
    for finger in range(5):
        bend, bone = 6 + 4 * finger, 2 + 4 * finger
        angles[bone, 0] = pose[bend]
        angles[bone, 1] = pose[bend + 1]
        angles[bone + 1, 0] = pose[bend + 2]
        angles[bone + 2, 0] = pose[bend + 3]
    return angles


def turn(x, z, y):
    """Rotations about x, then y, then z, with a row and a column for places."""
    cx, sx, cy, sy, cz, sz = np.cos(x), np.sin(x), np.cos(y), np.sin(y), np.cos(z), np.sin(z)
    about_x = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, cx, -sx, 0.0], [0.0, sx, cx, 0.0], [0.0, 0.0, 0.0, 1.0]])
    about_y = np.array([[cy, 0.0, sy, 0.0], [0.0, 1.0, 0.0, 0.0], [-sy, 0.0, cy, 0.0], [0.0, 0.0, 0.0, 1.0]])
    about_z = np.array([[cz, -sz, 0.0, 0.0], [sz, cz, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    return about_z @ about_y @ about_x


def rotation(vector):
    """The rotation about a vector by its length."""
    angle = np.sqrt(np.sum(vector**2))
    x, y, z = vector[0] / angle, vector[1] / angle, vector[2] / angle
    s, c = np.sin(angle), np.cos(angle)
    return np.array(
        [
            [x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
            [x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s],
            [x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c],
        ]
    )


def posed(pose, relatives, inverses, positions, weights):
    """Vertices of the hand in a pose."""
    angles, places = angles_of(pose), []
    for k, parent in enumerate(PARENTS):
        own = relatives[k] @ turn(angles[k, 0], angles[k, 1], angles[k, 2])
        places.append(own if parent < 0 else places[parent] @ own)
    moved = (np.stack(places) @ inverses)[:, :3] @ positions.T
    skin = np.sum(weights.T[:, np.newaxis] * moved, axis=0)
    return (rotation(pose[:3]) @ skin).T + pose[3:6]


def ht(pose, relatives, inverses, positions, weights, of, points):
    return points - posed(pose, relatives, inverses, positions, weights)[of]


def ht_complicated(shift, pose, relatives, inverses, positions, weights, corners, points, us):
    vertices, u = posed(pose, relatives, inverses, positions, weights), us + shift
    a, b, c = vertices[corners[:, 0]], vertices[corners[:, 1]], vertices[corners[:, 2]]
    return points - (u[:, :1] * a + u[:, 1:] * b + (1 - u[:, :1] - u[:, 1:]) * c)


SIZES = {"tiny": (8, 3), "small": (544, 100), "large": (10_000, 1600)}
CASES = (
    Case(ht, simple_inputs, SIZES, ("pose",), "jacobian"),
    Case(ht_complicated, complicated_inputs, SIZES, ("shift", "pose"), "jacobian"),
)
