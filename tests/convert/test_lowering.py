"""Early exits become flags and branches: text in, text out."""

import ast
import textwrap

import pytest

from sdgrad.convert.lowering import lowered

SIMPLE_RETURN = (
    """
    y = x
    return y
    """,
    """
    y = x
    return y
    """,
)
ARM_THAT_LEAVES = (
    """
    if x: return 1
    y = 2
    return y
    """,
    """
    done = False
    if x:
        result = 1
        done = True
    else:
        y = 2
        result = y
        done = True
    return result
    """,
)
ARM_THAT_MAY_LEAVE = (
    """
    if x:
        if y: return 1
    z = 2
    return z
    """,
    """
    done = False
    if x:
        if y:
            result = 1
            done = True
    if not done:
        z = 2
        result = z
        done = True
    return result
    """,
)
BREAK_AND_CONTINUE = (
    """
    for k in x:
        if k: continue
        if y: break
        f(k)
    else:
        g()
    """,
    """
    break_0 = False
    for k in x:
        if not break_0:
            if k:
                continue_0 = True
            elif y:
                break_0 = True
            else:
                f(k)
    if not break_0:
        g()
    """,
)
RETURN_FROM_LOOPS = (
    """
    while x:
        for k in y:
            if k: return k
        f()
    """,
    """
    done = False
    while x:
        for k in y:
            if not done:
                if k:
                    result = k
                    done = True
        if not done:
            f()
    return result
    """,
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [SIMPLE_RETURN, ARM_THAT_LEAVES, ARM_THAT_MAY_LEAVE, BREAK_AND_CONTINUE, RETURN_FROM_LOOPS],
    ids=["simple", "leaves", "may-leave", "break-continue", "loops"],
)
def test_text(source, expected):
    statements = lowered(ast.parse(textwrap.dedent(source)).body)
    text = ast.unparse(ast.fix_missing_locations(ast.Module(statements, [])))
    text = "\n".join(line for line in text.replace("_sdgrad_", "").splitlines() if "continue_0 = False" not in line)
    assert text == textwrap.dedent(expected).strip()


def test_loops_know_the_flags_that_stop_them():
    source = "for k in x:\n    while y:\n        if k: return k\n        if y: break\n        if z: continue\n    break"
    loops = [n for s in lowered(ast.parse(source).body) for n in ast.walk(s) if isinstance(n, (ast.For, ast.While))]
    assert [tuple(f.removeprefix("_sdgrad_") for f in n.sdgrad_flags) for n in loops] == [
        ("break_0", "done"),
        ("break_1", "done"),
    ]
