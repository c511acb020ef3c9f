"""Robotics: kinematics, dynamics, attitude, localisation, planning."""

import math
from dataclasses import dataclass, field

import numpy as np

from people._case import case


def denavit_hartenberg(theta, d, a, alpha):
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    )


@case(
    lambda rng: (
        rng.uniform(-1, 1, 6),
        [(0.1, 0, np.pi / 2), (0, 0.4, 0), (0, 0.35, 0), (0.1, 0, np.pi / 2), (0.1, 0, -np.pi / 2), (0.08, 0, 0)],
        np.array([0.3, 0.2, 0.4]),
    ),
    wrt=(0, 2),
)
def arm_reach_cost(joints, links, target):
    T = np.eye(4)
    elbow_heights = []
    for q, (d, a, alpha) in zip(joints, links, strict=True):
        T = T @ denavit_hartenberg(q, d, a, alpha)
        elbow_heights.append(T[2, 3])
    position, R = T[:3, 3], T[:3, :3]
    tilt = np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))
    clearance = sum(math.exp(-10 * h) for h in elbow_heights)
    return np.linalg.norm(position - target) + 0.1 * tilt**2 + 1e-2 * clearance


@case(lambda rng: (np.array([1.1, 0.7]), {"lengths": np.array([0.8, 0.6, 0.4]), "damping": 0.05}), wrt=(0, 1))
def inverse_kinematics(goal, arm):
    """Joint effort at the solution of damped least squares."""
    lengths = arm["lengths"]

    def forward(q):
        angles = np.cumsum(q)
        return np.array([lengths @ np.cos(angles), lengths @ np.sin(angles)])

    def jacobian(q):
        angles = np.cumsum(q)
        J = np.zeros((2, 3))
        for i in range(3):
            J[0, i] = -np.sum(lengths[i:] * np.sin(angles[i:]))
            J[1, i] = np.sum(lengths[i:] * np.cos(angles[i:]))
        return J

    q = np.array([0.3, 0.5, 0.4])
    for _ in range(40):
        error = goal - forward(q)
        if np.max(np.abs(error)) < 1e-10:
            break
        J = jacobian(q)
        q = q + J.T @ np.linalg.solve(J @ J.T + arm["damping"] ** 2 * np.eye(2), error)
    return q @ np.diag([3.0, 2.0, 1.0]) @ q


@dataclass
class Quaternion:
    w: float
    v: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __mul__(self, other):
        return Quaternion(
            self.w * other.w - self.v @ other.v, self.w * other.v + other.w * self.v + np.cross(self.v, other.v)
        )

    def conjugate(self):
        return Quaternion(self.w, -self.v)

    def rotate(self, x):
        return (self * Quaternion(0.0, x) * self.conjugate()).v

    def normalized(self):
        size = np.sqrt(self.w**2 + np.sum(self.v**2))
        return Quaternion(self.w / size, self.v / size)


@case(lambda rng: (rng.standard_normal((6, 3)), np.array([0.02, -0.01, 0.03])), wrt=(0, 1))
def gyro_attitude(rates, bias, dt=0.5):
    q = Quaternion(1.0)
    down = np.array([0.0, 0.0, -1.0])
    drift = 0.0
    for omega in rates - bias:
        half = 0.5 * dt * omega
        angle = np.linalg.norm(half)
        q = (q * Quaternion(np.cos(angle), np.sin(angle) / angle * half)).normalized()
        drift += np.linalg.norm(np.cross(q.rotate(down), down)) ** 2
    return drift


def wrap(angle):
    return math.atan2(math.sin(angle), math.cos(angle))


@case(
    lambda rng: (
        [(0.0, 0.0, 0.1), (1.0, 0.1, 0.8), (1.3, 1.1, 1.7), (0.2, 1.2, 3.0)],
        [(0, 1, (1.0, 0.0, 0.7)), (1, 2, (0.9, 0.6, 0.9)), (2, 3, (0.2, 1.0, 1.2)), (3, 0, (0.1, 1.1, -2.9))],
    )
)
def pose_graph(poses, edges):
    weights = {"x": 1.0, "y": 1.0, "heading": 2.0}
    chi2 = 0.0
    for i, j, measured in edges:
        xi, yi, ti = poses[i]
        xj, yj, tj = poses[j]
        dx, dy = xj - xi, yj - yi
        relative = (math.cos(ti) * dx + math.sin(ti) * dy, -math.sin(ti) * dx + math.cos(ti) * dy, wrap(tj - ti))
        for (name, weight), found, wanted in zip(weights.items(), relative, measured, strict=True):
            error = wrap(found - wanted) if name == "heading" else found - wanted
            # Huber-like
            chi2 += weight * (math.sqrt(1 + error**2) - 1)
    return chi2


class TwoLinkArm:
    gravity = 9.81

    def __init__(self, masses, lengths):
        self.m1, self.m2 = masses
        self.l1, self.l2 = lengths

    def mass_matrix(self, q):
        c = np.cos(q[1])
        a = self.m2 * self.l1 * self.l2 * c
        M22 = self.m2 * self.l2**2
        M12 = M22 + a
        M11 = self.m1 * self.l1**2 + self.m2 * (self.l1**2 + self.l2**2) + 2 * a
        return np.array([[M11, M12], [M12, M22]])

    def bias(self, q, dq):
        h = self.m2 * self.l1 * self.l2 * np.sin(q[1])
        coriolis = np.array([-h * (2 * dq[0] * dq[1] + dq[1] ** 2), h * dq[0] ** 2])
        g2 = self.m2 * self.l2 * np.cos(q.sum())
        g1 = (self.m1 + self.m2) * self.l1 * np.cos(q[0]) + g2
        return coriolis + self.gravity * np.array([g1, g2])

    def accelerate(self, q, dq, torque):
        return np.linalg.solve(self.mass_matrix(q), torque - self.bias(q, dq))


@case(lambda rng: ([12.0, 3.0], (1.0, 0.8), (0.7, 0.5)), wrt=(0, 1))
def tracking_controller(gains, masses, lengths, dt=0.02, steps=25):
    arm = TwoLinkArm(masses, lengths)
    kp, kd = gains
    q, dq = np.array([0.1, 0.2]), np.zeros(2)
    cost = 0.0
    for k in range(steps):
        s = k / steps
        wanted = np.array([0.1, 0.2]) + np.array([0.5, -0.3]) * (10 * s**3 - 15 * s**4 + 6 * s**5)
        torque = kp * (wanted - q) - kd * dq + arm.bias(q, np.zeros(2))
        dq += dt * arm.accelerate(q, dq, torque)
        q += dt * dq
        cost += dt * (np.sum((q - wanted) ** 2) + 1e-4 * torque @ torque)
    return 100 * cost
