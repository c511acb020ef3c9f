"""Statements of random programs: ``{a}`` and ``{b}`` are vectors, ``{s}`` and ``{d}`` two ranks, ``{t}`` a new name.

A vector gets a mean of what it was and of something else, so that programs of any length have moderate derivatives.
"""

MESSAGES = {
    "ring": """
{t} = np.empty(N)
comm.Sendrecv(np.sin({a}), dest=right, sendtag={tag}, recvbuf={t}, source=left, recvtag={tag})
{b} = 0.6 * {b} + 0.4 * {t}
""",
    "ring in place": """
{t} = np.cos({a})
comm.Sendrecv_replace({t}, dest=left, source=right)
{b} = 0.7 * {b} + 0.3 * {t} * {a}
""",
    "halo": """
line.Sendrecv({a}[-2:-1], dest=above, recvbuf={a}[:1], source=below)
line.Sendrecv({a}[1:2], dest=below, recvbuf={a}[-1:], source=above)
{b} = 0.6 * {b} + 0.4 * np.sin({a})
""",
    "halo of the neighbour's neighbour": """
{t} = np.zeros(N)
line.Sendrecv({a} * {b}, dest=second_above, sendtag={tag}, recvbuf={t}, source=second_below, recvtag={tag})
{b} = 0.7 * {b} + 0.3 * np.sin({t} + {a})
""",
    "message": """
if rank == {s}:
    comm.Send({a} * {b}, dest={d}, tag={tag})
if rank == {d}:
    {t} = np.zeros(N)
    comm.Recv({t}, source={s}, tag={tag})
    {b} = 0.6 * {b} + 0.4 * {t}
""",
    "a part": """
if rank == {s}:
    comm.Send({a}[{here}], dest={d})
elif rank == {d}:
    comm.Recv({b}[{there}], source={s})
""",
    "there and back": """
{t} = np.zeros(N)
if rank == {s}:
    comm.Send({a}, dest={d}, tag={tag})
    comm.Recv({t}, source={d}, tag={tag})
elif rank == {d}:
    comm.Recv({t}, source={s}, tag={tag})
    comm.Send(np.sin({t}) * {b}, dest={s}, tag={tag})
{b} = 0.6 * {b} + 0.4 * {t}
""",
    "out of order": """
if rank == {s}:
    {t} = [comm.Isend(np.sin({a} * m), dest={d}, tag=m) for m in {tags}]
    MPI.Request.Waitall({t})
if rank == {d}:
    for m in {received}:
        {t} = np.empty(N)
        comm.Recv({t}, source={s}, tag=m)
        {b} = 0.6 * {b} + 0.4 * {t} * np.cos({b})
""",
    "overlap": """
{t}a, {t}b = np.empty(N), np.empty(N)
{t} = [
    comm.Irecv({t}a, source=left, tag=1),
    comm.Irecv({t}b, source=right, tag=2),
    comm.Isend(np.sin({a}), dest=right, tag=1),
    comm.Isend({a} * {b}, dest=left, tag=2),
]
{b} = np.tanh({b}) * {c}
MPI.Request.Waitall([{t}[m] for m in {order}])
{b} = 0.6 * {b} + 0.2 * {t}a + 0.2 * {t}b * {a}
""",
    "overlap, one by one": """
{t}a, {t}b = np.zeros(N), np.zeros(N)
{t} = [
    line.Isend({a} + {b}, dest=below),
    line.Irecv({t}a, source=above),
    line.Isend({a} * {a}, dest=above),
    line.Irecv({t}b, source=below),
]
for m in {order}:
    {b} = 0.8 * {b} + 0.1 * np.sin({b})
    {t}[m].Wait()
{b} = 0.6 * {b} + 0.2 * {t}a + 0.2 * {t}b * {a}
""",
    "overlap with a collective": """
{t}a, {t}b = np.zeros(N), np.zeros(N)
{t} = comm.Isend({a} * {c}, dest=right, tag={tag})
comm.Allreduce({b}, {t}a)
comm.Recv({t}b, source=left, tag={tag})
{t}.Wait()
{b} = 0.6 * {b} + 0.4 * np.sin({t}a) * {t}b
""",
    "whoever sends": """
if rank == {d}:
    for _ in range(1, size):
        {t} = np.empty(N)
        comm.Recv({t}, tag={tag})
        {b} = {b} + 0.1 * np.sin({t})
else:
    comm.Send({a} * (rank + 1), dest={d}, tag={tag})
comm.Barrier()
""",
    "each gets its own": """
if rank == {s}:
    for {k} in range(size):
        if {k} != {s}:
            comm.Send({a} * ({k} + 0.5), dest={k}, tag={k})
else:
    {t} = np.empty(N)
    comm.Recv({t}, source={s}, tag=rank)
    {b} = 0.6 * {b} + 0.4 * np.sin({t})
""",
    "all shifts": """
{t} = np.empty(N)
for {k} in range(1, size):
    comm.Sendrecv({a} * {k}, dest=(rank + {k}) % size, recvbuf={t}, source=(rank - {k}) % size)
    {b} = 0.8 * {b} + 0.2 * np.sin({t})
""",
    "rows": """
{t}, {t}w = np.outer(np.arange(1.0, 4), {a}), np.zeros((5, N))
comm.Sendrecv({t}[1:], dest=right, recvbuf={t}w[2:4], source=left)
comm.Sendrecv({t}[0], dest=left, recvbuf={t}w[0], source=right)
{b} = 0.6 * {b} + 0.1 * np.sum(np.sin({t}w), axis=0)
""",
    "complex numbers": """
{t} = np.empty(N, np.complex128)
comm.Sendrecv(np.exp(1j * {a}) * {b}, dest=right, recvbuf={t}, source=left)
{b} = 0.6 * {b} + 0.2 * np.real({t}) + 0.2 * np.imag({t})
""",
}

COLLECTIVES = {
    "sum": """
{t} = np.empty(N)
comm.Allreduce(np.sin({a}) * {b}, {t})
{b} = 0.6 * {b} + 0.2 * {t}
""",
    "in place": """
{t} = np.cos({a})
comm.Allreduce(MPI.IN_PLACE, {t}, op=MPI.{op})
{b} = 0.7 * {b} + 0.2 * {t} * {a}
""",
    "of numbers": """
{b} = {b} * np.cos(comm.allreduce(np.sum({a})) / (size * N))
""",
    "largest": """
{b} = 0.6 * {b} + 0.4 * np.sin(comm.allreduce(np.max({a}), op=MPI.MAX))
""",
    "reduce": """
{t} = np.zeros(N)
comm.Reduce(np.cos({a}), {t}, op=MPI.{op}, root={s})
{b} = 0.7 * {b} + 0.1 * {t}
""",
    "reduce in place": """
if rank == {s}:
    comm.Reduce(MPI.IN_PLACE, {a}, root={s})
    {a} = np.sin({a})
else:
    comm.Reduce({a}, None, root={s})
""",
    "reduce a number": """
{t} = comm.reduce({a}[{at}], root={s})
if rank == {s}:
    {b} = 0.7 * {b} + 0.3 * np.sin({t}) * {a}
""",
    "broadcast": """
{t} = np.zeros(N)
if rank == {s}:
    {t}[:] = np.sin({a})
comm.Bcast({t}, root={s})
{b} = 0.6 * {b} + 0.4 * {t} * {a}
""",
    "broadcast in place": """
comm.Bcast({a}, root={s})
""",
    "broadcast a part": """
comm.Bcast({a}[{here}], root={s})
""",
    "broadcast where": """
{t} = np.array([np.argmax({a})])
comm.Bcast({t}, root={s})
{b} = 0.6 * {b} + 0.4 * {a}[{t}[0]]
""",
    "scatter": """
{t} = np.empty(N // size)
comm.Scatter({a} * {b} if rank == {s} else None, {t}, root={s})
{b}[: N // size] = 0.5 * {b}[: N // size] + 0.5 * {t}
""",
    "gather": """
{t} = np.empty((size, N)) if rank == {s} else None
comm.Gather(np.sin({a}), {t}, root={s})
if rank == {s}:
    {b} = 0.6 * {b} + 0.2 * np.sum({t} * np.arange(size)[:, None], axis=0)
""",
    "scatter and gather parts": """
{t}n = {counts}
{t}, {t}w = np.empty({t}n[rank]), np.empty(N) if rank == {d} else None
comm.Scatterv([{a}, {t}n] if rank == {s} else None, {t}, root={s})
comm.Gatherv(np.sin({t}), [{t}w, {t}n] if rank == {d} else None, root={d})
if rank == {d}:
    {b} = 0.6 * {b} + 0.4 * {t}w * {a}
""",
    "parts for all": """
{t}n = {counts}
{t} = np.empty(N)
comm.Allgatherv({a}[: {t}n[rank]], [{t}, {t}n])
{b} = 0.6 * {b} + 0.4 * np.sin({t} * {a})
""",
    "gather for all": """
{t} = np.empty((size, N))
comm.Allgather({a} * {b}, {t})
{b} = 0.6 * {b} + 0.1 * np.sum(np.sin({t}), axis=0)
""",
    "gather numbers": """
{t} = comm.allgather({a}[{at}] * {c})
{b} = 0.7 * {b} + 0.1 * sum((m + 1) * value for m, value in enumerate({t}))
""",
    "sum of parts": """
{t} = np.empty(N // size)
comm.Reduce_scatter_block(np.sin({a}), {t})
{b}[-(N // size) :] = 0.5 * {b}[-(N // size) :] + 0.2 * {t}
""",
    "transpose": """
{t} = np.empty(N)
comm.Alltoall(np.sin({a}) * {b}, {t})
{b} = 0.6 * {b} + 0.4 * {t}
""",
    "sum over the ranks before": """
{t} = np.empty(N)
comm.Scan(np.sin({a}) * {b}, {t})
{b} = 0.6 * {b} + 0.2 * {t}
""",
    "sum over the ranks before, without this one": """
{t} = np.cos({b})
halves.Exscan({a} * {c}, {t})
{b} = 0.6 * {b} + 0.2 * {t} * {a}
""",
    "sum of numbers before": """
{t} = comm.exscan(np.sum({a}) / N)
if rank:
    {b} = {b} * np.cos({t})
""",
    "halves": """
{t} = np.empty(N)
halves.Allreduce(np.cos({a}), {t}, op=MPI.{op})
{b} = 0.7 * {b} + 0.2 * {t} * {a}
""",
    "broadcast in a half": """
halves.Bcast({a}, root=0)
{b} = 0.6 * {b} + 0.4 * {a} * {b}
""",
    "barrier": """
comm.Barrier()
""",
}

STATEMENTS = MESSAGES | COLLECTIVES
"""What communicates."""

SINGLE = {
    "sine": "{a} = 0.6 * np.sin({a}) + 0.4 * {b}",
    "product": "{a} = np.tanh({a}) * np.cos({b})",
    "swap": "{a}, {b} = {b} * 1.0, {a} * 1.0",
    "part of another": "{a}[{here}] = {c} * {b}[{there}]",
    "one element": "{a}[{at}] = np.sum({b} * {b}) / N",
    "shift": "{a} = np.roll({b}, 1) * {c} + 0.1 * {a}",
    "one rank": """
if rank == {s}:
    {a} = np.tanh({a} + {c}) * {b}
""",
    "one rank forgets": """
if rank == {s}:
    {a} = np.ones(N)
""",
    "where it is large": """
if {a}[{at}] > {c}:
    {b} = np.sin({b}) * {a}
""",
}
"""What each rank does by itself."""

BLOCKS = {
    "loop": """
for {k} in range({trips}):
    BODY
""",
    "loop with its counter": """
for {k} in range({trips}):
    {a} = {a} * np.cos(0.1 * {k})
    BODY
    {a} = 0.9 * {a}
""",
    "until it is small": """
{k} = 0
while comm.allreduce(np.sum({a} * {a})) > {c} * size * N and {k} < {trips}:
    BODY
    {a} = 0.7 * {a}
    {k} += 1
u, v, w = u * 1.0, v * 1.0, w * 1.0
""",
    "by turns": """
for {k} in range({trips}):
    if {k} % 2:
        BODY
    else:
        OTHER
""",
    "until all agree": """
for {k} in range({trips}):
    BODY
    if comm.allreduce(np.max(np.abs({a})), op=MPI.MAX) < {c}:
        break
u, v, w = u * 1.0, v * 1.0, w * 1.0
""",
    "all agree": """
if comm.allreduce(np.sum({a})) > {c}:
    BODY
    u, v, w = u * 1.0, v * 1.0, w * 1.0
else:
    OTHER
    u, v, w = u * 1.0, v * 1.0, w * 1.0
""",
    "in a step": """
def {step}(u, v, w):
    BODY
    return u, v, w
u, v, w = {step}(u, v, w)
u, v, w = {step}(w, u, v)
""",
    "in a step that is computed again": """
def {step}(u, v, w):
    u, v, w = u * 1.0, v * 1.0, w * 1.0
    BODY
    return u * 1.0, v * 1.0, w * 1.0
for _ in range({trips}):
    u, v, w = sdgrad.checkpoint({step})(u, v, w)
""",
}
"""Statements with others in them."""
