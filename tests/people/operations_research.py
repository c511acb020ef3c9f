"""Operations research: interior points, transport, queues, inventories, projects."""

import heapq
import math
from functools import reduce

import numpy as np
from scipy.special import ndtr

from people._case import case


@case(
    lambda rng: (
        np.array([-3.0, -2.0, 0.0, 0.0]),
        np.array([[1.0, 1.0, 1.0, 0.0], [2.0, 0.5, 0.0, 1.0]]),
        np.array([4.0, 5.0]),
    ),
    wrt=(0, 1, 2),
)
def primal_dual_interior_point(c, A, b):
    m, n = A.shape
    x, y, s = np.ones(n), np.zeros(m), np.ones(n)
    for iteration in range(20):
        mu = 0.3 * (x @ s) / n
        if iteration > 10:
            mu = 1e-3
        rp, rd, rc = b - A @ x, c - A.T @ y - s, mu - x * s
        if iteration > 10 and max(np.abs(rp).max(), np.abs(rd).max(), np.abs(rc).max()) < 1e-13:
            break
        D = x / s
        dy = np.linalg.solve((A * D) @ A.T, rp + A @ (D * rd - rc / s))
        ds = rd - A.T @ dy
        dx = rc / s - D * ds
        step = 1.0
        for v, dv in ((x, dx), (s, ds)):
            falling = dv < 0
            if falling.any():
                step = min(step, 0.95 * np.min(-v[falling] / dv[falling]))
        x, y, s = x + step * dx, y + step * dy, s + step * ds
    return c @ x + 0.1 * y @ y


def logsumexp(a, axis):
    top = np.max(a, axis=axis, keepdims=True)
    return np.squeeze(top, axis=axis) + np.log(np.sum(np.exp(a - top), axis=axis))


@case(lambda rng: (rng.random((5, 2)), rng.random((6, 2)), np.array([1.0, 2.0, 1.5, 0.5, 1.0])), wrt=(0, 1, 2))
def sinkhorn_transport(plants, shops, supply):
    cost = np.sqrt(((plants[:, None, :] - shops[None, :, :]) ** 2).sum(-1) + 1e-6)
    log_a = np.log(supply / supply.sum())
    log_b = np.log(np.full(len(shops), 1 / len(shops)))
    eps = 0.3
    f, g = np.zeros(len(plants)), np.zeros(len(shops))
    error = math.inf
    count = 0
    while error > 1e-11:
        f = eps * (log_a - logsumexp((g[None, :] - cost) / eps, axis=1))
        g = eps * (log_b - logsumexp((f[:, None] - cost) / eps, axis=0))
        plan = np.exp((f[:, None] + g[None, :] - cost) / eps)
        error = np.abs(plan.sum(axis=1) - np.exp(log_a)).sum()
        count += 1
        if count >= 100:
            break
    return np.sum(plan * cost) + f @ np.exp(log_a)


def erlang_c(servers, load):
    top = load**servers / math.factorial(servers) * servers / (servers - load)
    rest = sum(load**k / math.factorial(k) for k in range(servers))
    return top / (rest + top)


@case(lambda rng: ([2.2, 3.1, 4.6], 1.3, {"wage": 0.9, "patience": 0.4}), wrt=(0, 1, 2))
def call_centre_staffing(arrivals, service, costs):
    total = 0.0
    for lam in arrivals:
        load = lam / service
        servers = int(load) + 1
        # the smallest staff with four of five calls answered in time
        while True:
            wait = erlang_c(servers, load)
            late = wait * math.exp(-(servers * service - lam) * costs["patience"])
            if late < 0.2:
                break
            servers += 1
        queue = wait * lam / (servers * service - lam)
        total += costs["wage"] * servers + queue + 5 * late
    return total


@case(lambda rng: (np.array([3.0, 9.0]), 5.0, 1.2), wrt=(0, 1, 2))
def inventory_simulation(policy, mean, spread, days=25):
    """Order up to S when the stock falls below s; demand that cannot be met is lost."""
    s, S = policy
    rng = np.random.default_rng(0)
    stock, pipeline, cost = 8.0, [], 0.0
    for day in range(days):
        arrived = sum(amount for due, amount in pipeline if due == day)
        pipeline = [(due, amount) for due, amount in pipeline if due > day]
        stock += arrived
        demand = max(0.0, mean / 2 + spread * rng.standard_normal())
        sold = min(stock, demand)
        lost = demand - sold
        stock -= sold
        cost += 0.1 * stock + 2.0 * lost
        if stock < s and not pipeline:
            pipeline.append((day + 2, S - stock))
            cost += 1.0
    z = (S - mean) / spread
    expected_short = spread * (np.exp(-z * z / 2) / np.sqrt(2 * np.pi) - z * (1 - ndtr(z)))
    return cost / days + expected_short


@case(lambda rng: ({name: 1 + 2 * rng.random() for name in "abcdefg"}, 0.5), wrt=(0, 1))
def project_schedule(durations, crash):
    """Earliest times of tasks by a heap, and the risk of being late."""
    needs = {"a": "", "b": "", "c": "a", "d": "ab", "e": "cd", "f": "d", "g": "ef"}
    waiting = {task: len(before) for task, before in needs.items()}
    finish = {}
    ready = [task for task, k in waiting.items() if k == 0]
    heapq.heapify(ready)
    while ready:
        task = heapq.heappop(ready)
        start = max((finish[b] for b in needs[task]), default=0.0)
        finish[task] = start + durations[task] / (1 + crash)
        for later, before in needs.items():
            if task in before:
                waiting[later] -= 1
                if waiting[later] == 0:
                    heapq.heappush(ready, later)
    assert len(finish) == len(needs), f"a cycle among {set(needs) - set(finish)}"
    spread = reduce(lambda acc, d: acc + (0.2 * d) ** 2, durations.values(), 0.0)
    makespan = finish["g"]
    late = 1 - ndtr((7.0 - makespan) / np.sqrt(spread))
    return makespan + 3 * late + 2 * crash**2
