"""Reversal of loops, branches and scopes: program in, backward program out."""

from treetext import block, program

from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.program.tree import lines


def backward(source, symbols=""):
    """The backward half of a program, by ``x``, of ``y``."""
    found = differentiate_program(program(source, symbols=symbols), Request(("x",), ("y",)))
    return "\n".join(line for node in found.backward for line in lines(node))


def test_loop_runs_backwards():
    found = backward("""
        argument x: float64[8]
        argument y: float64[8]
        body
          loop k = 1 .. 7 step 2:
            do:
              v = y[k - 1]
              u = x[k]
              w = u * v
              y[k] = w
    """)
    assert found.endswith(
        block("""
        loop k = 7 .. 1 step -2:
          do:
            v = y[k - 1]
            u = x[k]
            g_y = gradient_y_work[k]
            g = v * g_y
            g_0 = u * g_y
            g_1 = 0
            gradient_y_work[k] = g_1
            gradient_y_work[k - 1] += g_0
            gradient_x[k] += g
    """)
    )


def test_overwritten_values_come_from_the_tape():
    found = backward("""
        argument x: float64[1]
        argument y: float64[1]
        body
          do:
            a = x[0]
            y[0] = a
          loop k = 0 .. 4 step 1:
            do:
              v = y[0]
              w = sin(v)
              y[0] = w
    """)
    assert "loop k = 4 .. 0 step -1:\n  do:\n    v = tape_y[k]" in found


def test_branch_takes_the_same_arm():
    found = backward(
        """
        argument x: float64[8]
        argument y: float64[8]
        body
          if n > 2:
            map i=0:8:
              v = x[i]
              w = 2.0 * v
              y[i] = w
          else:
            map i=0:8:
              u = x[i]
              y[i] = u
        """,
        symbols="n",
    )
    taken = found[found.index("if") :]
    assert taken.startswith("if n > 2:\n  map i=0:8:\n    g_y = gradient_y_work[i]\n    g = 2.0 * g_y\n")
    assert "else:\n  map i=0:8:\n" in taken


def test_scope_replays_its_local_values():
    found = backward("""
        argument x: float64[8]
        argument y: float64[8]
        body
          map i=0:8:
            local t: float64[1]
            do:
              v = x[i]
              w = exp(v)
              t[0] = w
            loop k = 0 .. 2 step 1:
              do:
                u = t[0]
                a = u * u
                t[0] = a
            do:
              b = t[0]
              y[i] = b
    """)
    assert (
        block("""
        map i=0:8:
          local t: float64[1]
          local gradient_t: float64[1]
          local tape_t: float64[3]
          do:
            v = x[i]
            w = exp(v)
            t[0] = w
          loop k = 0 .. 2 step 1:
            do:
              u = t[0]
              tape_t[k] = u
    """)
        in found
    )
    adjoint = "    g_t_0 = gradient_t[0]\n    g_1 = sdgrad_strong(w * g_t_0, g_t_0)\n    gradient_x[i] += g_1"
    assert found.endswith(adjoint)


def test_what_touches_no_adjoint_is_left_out():
    found = backward("""
        argument x: float64[8]
        argument y: float64[8]
        argument z: float64[8]
        body
          loop k = 0 .. 7 step 1:
            do:
              a = x[k]
              z[k] = a
          map i=0:8:
            v = x[i]
            y[i] = v
    """)
    assert "loop" not in found
