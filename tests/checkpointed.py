"""Force checkpoints in tests: on every loop that can have them, in a room of some size."""

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
