# refused: CompilationFailed: cannot compile program_grad_4648e3ad48510edb:
# /tmp/sdgrad_fuzz_cache_u9_o9w3s/program_grad_4648e3ad48510edb/src/cpu/program_grad_4648e3ad48510edb.cpp:88:18: error: expected unqualified-id before ‘new’
# /tmp/sdgrad_fuzz_cache_u9_o9w3s/program_grad_4648e3ad48510edb/src/cpu/program_grad_4648e3ad48510edb.cpp:89:23: error: expected type-specifier before ‘;’ token
# command: c++ -I/tmp/sdgrad_fuzz_cache_u9_o9w3s/header_847a3a751695db49 -march=native -fno-math-errno -fno-trapping-math -fno-signed-zeros -freciprocal-math -O0 -DNDEBUG -w -fPIC -fopenmp -std=c++20 -I/work/main/.venv/lib/python3.11/site-packages/dace/runtime/include -I/work/main/sdgrad/runtime/include -I/tmp/sdgrad_fuzz_cache_u9_o9w3s/program_grad_4648e3ad48510edb/include -shared /tmp/sdgrad_fuzz_cache_u9_o9w3s/program_grad_4648e3ad48510edb/src/cpu/program_grad_4648e3ad48510edb.cpp -o /tmp/sdgrad_fuzz_cache_u9_o9w3s/program_grad_4648e3ad48510edb/program_grad_4648e3ad48510edb.part
# 0b the same with /=
import numpy as np


def program(X, k):
    X[k] /= X[2]
    return np.sum(X)


def arguments():
    g = np.random.default_rng(1)
    return dict(X=g.uniform(-1,1,3), k=2)
