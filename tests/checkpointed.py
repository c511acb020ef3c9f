"""Force checkpoints in tests: on every loop that can have them, in a room of some size."""

from sdgrad.tape import checkpoints
from sdgrad.tape.room import Room


def every_loop(monkeypatch) -> None:
    """Loops with a tape have checkpoints wherever that is possible."""

    def worthwhile(program, plan, least):
        for k, node in enumerate(program.body):
            inside = any(where[:1] == (k,) for where, _ in plan.kept_at())
            if isinstance(node, checkpoints.Loop) and checkpoints.countable(node) is not None and inside:
                yield (k,)

    monkeypatch.setattr(checkpoints, "worthwhile", worthwhile)
    monkeypatch.setattr(checkpoints, "pays", lambda *args: True)


def in_room_for(places: int, monkeypatch) -> None:
    """Each loop has the bytes of so many states and tapes; at least those of one."""

    def room(count, state, tape, cheap):
        return Room.of(count, state, -(-tape // count), places * (state + tape // count))

    monkeypatch.setattr(checkpoints, "room_of", room)
