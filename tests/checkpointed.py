"""Force checkpoints in tests: on every loop that can have them, in a room of some size; and compare with none."""

import numpy as np

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.tape import checkpoints
from sdgrad.tape.room import Room


def every_loop(monkeypatch) -> None:
    """Loops with a tape have checkpoints wherever that is possible."""

    def worthwhile(program, plan, least):
        for k, node in enumerate(program.body):
            inside = any(where[:1] == (k,) for where, _ in plan.kept_at())
            if isinstance(node, checkpoints.Loop) and checkpoints.variable(node) is not None and inside:
                yield (k,)

    monkeypatch.setattr(checkpoints, "worthwhile", worthwhile)
    monkeypatch.setattr(checkpoints, "pays", lambda *args: True)


def in_room_for(places: int, monkeypatch) -> None:
    """Each loop has the bytes of so many states and tapes; at least those of one."""

    of = Room.of

    def room(count, state, tape, most):
        return of(count, state, tape, places * (state + tape))

    monkeypatch.setattr(checkpoints.Room, "of", room)
    monkeypatch.setattr(checkpoints, "open_room", lambda *args: Room.of_open(max(1, places), max(1, places // 2)))


def vectors(size: int = 12):
    """Two arguments of test programs."""
    rng = np.random.default_rng(0)
    return 0.3 + 0.6 * rng.random(size), 0.4 + 0.6 * rng.random(size)


def fresh(f):
    """A function that nothing is known of yet."""
    return type(f)(f.__code__, f.__globals__, f.__name__)


def plan_of(f, *args):
    """The tape plan of a gradient by x and w."""
    g = sdgrad.value_and_grad(f, wrt=("x", "w"))
    signature, _, _, request = g.question(bind_arguments(f, args, {}))
    return signature.differentiated(request).plan


def stored(f, *args):
    """Value and gradients with the whole tape."""
    with config.override(without=("checkpoints",)):
        return sdgrad.value_and_grad(fresh(f), wrt=("x", "w"))(*args)
