// Convolutions in single precision by oneDNN's C interface (version 3), which is declared here: its wheel has no headers.
// https://oneapi-src.github.io/oneDNN/dev_guide_convolution.html
#pragma GCC visibility push(default)
#include "sdgrad_convolution.h"
#include "sdgrad_memory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

extern "C" {
typedef struct dnnl_engine *dnnl_engine_t;
typedef struct dnnl_stream *dnnl_stream_t;
typedef struct dnnl_memory *dnnl_memory_t;
typedef struct dnnl_memory_desc *dnnl_memory_desc_t;
typedef struct dnnl_primitive_desc *dnnl_primitive_desc_t;
typedef struct dnnl_primitive *dnnl_primitive_t;
typedef struct dnnl_primitive_attr *dnnl_primitive_attr_t;
struct dnnl_exec_arg_t {
    int arg;
    dnnl_memory_t memory;
};
int dnnl_engine_create(dnnl_engine_t *, int kind, size_t index);
int dnnl_stream_create(dnnl_stream_t *, dnnl_engine_t, unsigned flags);
int dnnl_stream_wait(dnnl_stream_t);
int dnnl_memory_desc_create_with_tag(dnnl_memory_desc_t *, int rank, const int64_t *dims, int type, int tag);
int dnnl_memory_desc_create_with_strides(dnnl_memory_desc_t *, int rank, const int64_t *dims, int type, const int64_t *);
size_t dnnl_memory_desc_get_size(const dnnl_memory_desc *);
int dnnl_primitive_attr_create(dnnl_primitive_attr_t *);
int dnnl_primitive_attr_set_scratchpad_mode(dnnl_primitive_attr_t, int mode);
int dnnl_memory_desc_equal(const dnnl_memory_desc *, const dnnl_memory_desc *);
int dnnl_memory_create(dnnl_memory_t *, const dnnl_memory_desc *, dnnl_engine_t, void *);
int dnnl_memory_set_data_handle(dnnl_memory_t, void *);
const dnnl_memory_desc *dnnl_primitive_desc_query_md(const dnnl_primitive_desc *, int what, int index);
int dnnl_primitive_create(dnnl_primitive_t *, const dnnl_primitive_desc *);
int dnnl_primitive_execute(const dnnl_primitive *, dnnl_stream_t, int count, const dnnl_exec_arg_t *);
int dnnl_reorder_primitive_desc_create(dnnl_primitive_desc_t *, const dnnl_memory_desc *, dnnl_engine_t,
                                       const dnnl_memory_desc *, dnnl_engine_t, const void *attributes);
int dnnl_convolution_forward_primitive_desc_create(dnnl_primitive_desc_t *, dnnl_engine_t, int prop, int algorithm,
                                                   const dnnl_memory_desc *src, const dnnl_memory_desc *weights,
                                                   const dnnl_memory_desc *bias, const dnnl_memory_desc *dst,
                                                   const int64_t *strides, const int64_t *dilations,
                                                   const int64_t *before, const int64_t *after, const void *attributes);
int dnnl_convolution_backward_data_primitive_desc_create(dnnl_primitive_desc_t *, dnnl_engine_t, int algorithm,
                                                         const dnnl_memory_desc *src, const dnnl_memory_desc *weights,
                                                         const dnnl_memory_desc *dst, const int64_t *strides,
                                                         const int64_t *dilations, const int64_t *before,
                                                         const int64_t *after, const dnnl_primitive_desc *forward,
                                                         const void *attributes);
int dnnl_convolution_backward_weights_primitive_desc_create(
    dnnl_primitive_desc_t *, dnnl_engine_t, int algorithm, const dnnl_memory_desc *src, const dnnl_memory_desc *weights,
    const dnnl_memory_desc *bias, const dnnl_memory_desc *dst, const int64_t *strides, const int64_t *dilations,
    const int64_t *before, const int64_t *after, const dnnl_primitive_desc *forward, const void *attributes);
}

namespace sdgrad {
namespace dnn {

enum Kind { FORWARD, IMAGE, WEIGHTS };  // which of image, weights and result is computed from the other two

// The place of that operand among the three.
inline int computed(Kind kind) { return kind == FORWARD ? 2 : kind == IMAGE ? 0 : 1; }

inline void check(int status, const char *what) {
    if (status != 0) {
        std::fprintf(stderr, "sdgrad: oneDNN failed with status %d: %s\n", status, what);
        std::abort();
    }
}

struct Machine {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attributes;
    Machine() {
        check(dnnl_engine_create(&engine, 1, 0), "no engine");
        check(dnnl_stream_create(&stream, engine, 1), "no stream");
        const int USER = 1;  // scratch memory is given at each call
        check(dnnl_primitive_attr_create(&attributes), "no attributes");
        check(dnnl_primitive_attr_set_scratchpad_mode(attributes, USER), "no attributes");
    }
};

// Memory while a product runs.
struct Scratch {
    char *memory;

    explicit Scratch(size_t bytes) : memory(scratch(bytes)) {}
    ~Scratch() { leave_scratch(memory); }
    Scratch(const Scratch &) = delete;
};

inline size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// As sdgrad_convolution.h lists them.
template <int RANK>
using Extents = std::array<int64_t, 4 + 7 * RANK>;

// One operand: where the caller has it (contiguous), and the layout that the primitive wants.
struct Operand {
    dnnl_memory_t given = nullptr, inner = nullptr;
    dnnl_primitive_t move = nullptr;  // from one to the other, in the direction of the operand
    size_t bytes = 0;                 // of the layout, if it is another one

    void prepare(dnnl_engine_t engine, const dnnl_memory_desc *plain, const dnnl_memory_desc *wanted, bool result) {
        check(dnnl_memory_create(&given, plain, engine, nullptr), "no memory");
        if (dnnl_memory_desc_equal(plain, wanted)) {
            inner = given;
            return;
        }
        check(dnnl_memory_create(&inner, wanted, engine, nullptr), "no memory");
        bytes = rounded(dnnl_memory_desc_get_size(wanted));
        dnnl_primitive_desc_t desc;
        check(dnnl_reorder_primitive_desc_create(&desc, result ? wanted : plain, engine, result ? plain : wanted, engine,
                                                 nullptr),
              "no change of layout");
        check(dnnl_primitive_create(&move, desc), "no change of layout");
    }

    void reorder(dnnl_stream_t stream, bool result) const {
        const dnnl_exec_arg_t arguments[2] = {{1, result ? inner : given}, {17, result ? given : inner}};
        check(dnnl_primitive_execute(move, stream, 2, arguments), "a change of layout");
    }
};

// A primitive for given extents, with its memory. One thread uses it at a time.
template <int RANK>
struct Plan {
    Machine machine;
    dnnl_primitive_t primitive;
    Operand operands[3];  // image, weights, result
    dnnl_memory_t scratch;
    size_t bytes;  // that a run takes
    Kind kind;

    Plan(Kind kind_, const Extents<RANK> &extents) : kind(kind_) {
        const int64_t batch = extents[0], groups = extents[1], channels = extents[2], results = extents[3];
        int64_t image[RANK + 2] = {batch, groups * channels}, result[RANK + 2] = {batch, groups * results};
        int64_t weights[RANK + 3] = {groups, results, channels};
        int64_t strides[RANK], dilations[RANK], before[RANK], after[RANK];
        for (int axis = 0; axis < RANK; ++axis) {
            const int64_t *own = extents.data() + 4 + 7 * axis;
            image[2 + axis] = own[0];
            weights[3 + axis] = own[1];
            result[2 + axis] = own[2];
            strides[axis] = own[3];
            dilations[axis] = own[4] - 1;
            before[axis] = own[5];
            after[axis] = own[6];
        }
        const int skipped = groups == 1;  // weights without groups have an axis less, and better kernels
        const int ranks[3] = {RANK + 2, RANK + 3 - skipped, RANK + 2};
        const int64_t *shapes[3] = {image, weights + skipped, result};
        dnnl_memory_desc_t plain[3], open[3];
        for (int k = 0; k < 3; ++k) {
            int64_t steps[RANK + 3], step = 1;
            for (int axis = ranks[k] - 1; axis >= 0; --axis) {
                steps[axis] = step;
                step *= shapes[k][axis];
            }
            check(dnnl_memory_desc_create_with_strides(&plain[k], ranks[k], shapes[k], 3, steps), "no layout");
            check(dnnl_memory_desc_create_with_tag(&open[k], ranks[k], shapes[k], 3, 1), "no layout");
        }
        dnnl_primitive_desc_t forward, desc;
        const int AUTO = 1, TRAINING = 64;
        check(dnnl_convolution_forward_primitive_desc_create(&forward, machine.engine, TRAINING, AUTO, open[0], open[1],
                                                             nullptr, open[2], strides, dilations, before, after,
                                                             machine.attributes),
              "no convolution");
        desc = forward;
        if (kind == IMAGE)
            check(dnnl_convolution_backward_data_primitive_desc_create(&desc, machine.engine, AUTO, open[0], open[1],
                                                                       open[2], strides, dilations, before, after,
                                                                       forward, machine.attributes),
                  "no convolution back to the image");
        if (kind == WEIGHTS)
            check(dnnl_convolution_backward_weights_primitive_desc_create(&desc, machine.engine, AUTO, open[0], open[1],
                                                                          nullptr, open[2], strides, dilations, before,
                                                                          after, forward, machine.attributes),
                  "no convolution back to the weights");
        check(dnnl_primitive_create(&primitive, desc), "no convolution");
        static const int wanted[3][3] = {{129, 131, 133}, {130, 131, 134}, {129, 132, 134}};  // dnnl_query_*_md
        for (int k = 0; k < 3; ++k)
            operands[k].prepare(machine.engine, plain[k], dnnl_primitive_desc_query_md(desc, wanted[kind][k], 0),
                                computed(kind) == k);
        const dnnl_memory_desc *own = dnnl_primitive_desc_query_md(desc, 136, 0);  // dnnl_query_scratchpad_md
        check(dnnl_memory_create(&scratch, own, machine.engine, nullptr), "no memory");
        bytes = rounded(dnnl_memory_desc_get_size(own));
        for (const Operand &operand : operands) bytes += operand.bytes;
    }

    void run(void *image, void *weights, void *result) {
        void *const given[3] = {image, weights, result};
        static const int names[3][3] = {{1, 33, 17}, {129, 33, 145}, {1, 161, 145}};  // DNNL_ARG_*
        dnnl_exec_arg_t arguments[4];
        Scratch room(bytes);
        char *free = room.memory;
        for (int k = 0; k < 3; ++k) {
            check(dnnl_memory_set_data_handle(operands[k].given, given[k]), "no memory");
            if (operands[k].move) check(dnnl_memory_set_data_handle(operands[k].inner, free), "no memory");
            free += operands[k].bytes;
            arguments[k] = {names[kind][k], operands[k].inner};
            if (k != computed(kind) && operands[k].move) operands[k].reorder(machine.stream, false);
        }
        check(dnnl_memory_set_data_handle(scratch, free), "no memory");
        arguments[3] = {80, scratch};  // DNNL_ARG_SCRATCHPAD
        check(dnnl_primitive_execute(primitive, machine.stream, 4, arguments), "a convolution");
        if (operands[computed(kind)].move) operands[computed(kind)].reorder(machine.stream, true);
        check(dnnl_stream_wait(machine.stream), "a convolution");
    }
};

template <int RANK>
Extents<RANK> extents_of(const int64_t *numbers) {
    Extents<RANK> found;
    std::copy_n(numbers, found.size(), found.begin());
    return found;
}

template <int RANK>
int64_t bytes_of(int kind, const int64_t *extents) {
    return int64_t(Plan<RANK>(Kind(kind), extents_of<RANK>(extents)).bytes);
}

// Runs one of the three products; plans are kept for the next call with the same extents.
template <int RANK>
void convolution(Kind kind, const int64_t *numbers, const float *image, const float *weights,
                 const float *result) {
    const Extents<RANK> extents = extents_of<RANK>(numbers);
    int64_t sizes[3] = {extents[0] * extents[1] * extents[2], extents[1] * extents[2] * extents[3],
                        extents[0] * extents[1] * extents[3]};
    for (int axis = 0; axis < RANK; ++axis)
        for (int k = 0; k < 3; ++k) sizes[k] *= extents[4 + 7 * axis + k];
    if (sizes[0] == 0 || sizes[1] == 0 || sizes[2] == 0) {  // a sum of nothing
        const float *const operands[3] = {image, weights, result};
        std::fill_n(const_cast<float *>(operands[computed(kind)]), sizes[computed(kind)], 0.0f);
        return;
    }
    static std::mutex guard;
    static std::map<std::pair<int, Extents<RANK>>, std::vector<std::unique_ptr<Plan<RANK>>>> unused;
    const std::pair<int, Extents<RANK>> key(kind, extents);
    std::unique_ptr<Plan<RANK>> plan;
    {
        std::lock_guard<std::mutex> lock(guard);
        auto &free = unused[key];
        if (!free.empty()) {
            plan = std::move(free.back());
            free.pop_back();
        }
    }
    if (!plan) plan = std::make_unique<Plan<RANK>>(kind, extents);
    plan->run(const_cast<float *>(image), const_cast<float *>(weights), const_cast<float *>(result));
    std::lock_guard<std::mutex> lock(guard);
    unused[key].push_back(std::move(plan));
}

}  // namespace dnn
}  // namespace sdgrad

extern "C" void sdgrad_convolution(int kind, int rank, const int64_t *extents, const float *image, const float *weights,
                                   const float *result) {
    using namespace sdgrad::dnn;
    const auto run = rank == 1 ? convolution<1> : rank == 2 ? convolution<2> : convolution<3>;
    run(Kind(kind), extents, image, weights, result);
}

extern "C" int64_t sdgrad_convolution_bytes(int kind, int rank, const int64_t *extents) {
    using namespace sdgrad::dnn;
    return rank == 1 ? bytes_of<1>(kind, extents) : rank == 2 ? bytes_of<2>(kind, extents) : bytes_of<3>(kind, extents);
}
