// Calls of compiled programs from Python: compares what is given with what a call was prepared for, and runs.
//
// No header of CPython or NumPy is needed, which a machine may lack: the functions are of CPython's stable interface,
// and the structures are the beginnings of its objects and NumPy's arrays, which have not changed since NumPy 1.7.
// native_call.py compares them with what Python tells before it uses any.
#include <cstdint>
#include <cstring>
#include <vector>

struct Object {
    std::intptr_t references;
    const void *type;
};

struct Dtype {
    Object head;
    const void *scalar;
    char kind, letter, order, flags;
    int number;
};

struct Array {
    Object head;
    char *data;
    int rank;
    const std::intptr_t *shape, *strides;
    const Object *base;
    const Dtype *dtype;
    int flags;
};

extern "C" {
Object *PyTuple_GetItem(Object *, std::intptr_t);
std::intptr_t PyTuple_Size(Object *);
Object *PyList_GetItem(Object *, std::intptr_t);
std::intptr_t PyList_Size(Object *);
int PyDict_Next(Object *, std::intptr_t *, Object **, Object **);
std::intptr_t PyDict_Size(Object *);
long long PyLong_AsLongLong(Object *);
double PyComplex_RealAsDouble(Object *);
double PyComplex_ImagAsDouble(Object *);
int PyObject_RichCompareBool(Object *, Object *, int);
Object *PyErr_Occurred(void);
void PyErr_Clear(void);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);
}

namespace
{
    constexpr int C_CONTIGUOUS = 1, EQUAL = 2, AS_IT_IS = -1;

    // What an object has to be: of a type; an array of a dtype and a shape; or equal to a value.
    struct Kind {
        const void *type;
        Object *value;
        const Dtype *dtype;
        std::intptr_t rank;
        const std::intptr_t *shape;
    };

    enum From : std::intptr_t { GIVEN, MADE, COPIED, FIXED, NUMBER };

    // Where an argument of the program comes from.
    struct Source {
        std::intptr_t from;
        std::intptr_t given;  // the position of the object
        std::intptr_t made;   // the position of the array that this call has made
        const void *fixed;    // the address of what all calls share
        std::intptr_t size;   // bytes: of an array to copy, or of a number
        std::intptr_t letter;  // a number's kind, as NumPy names it: b, i, u, f or c
    };

    enum Container : std::intptr_t { LEAF, TUPLE, LIST, DICT, NONE };

    // A part of the nest that the arguments of a call are, parents first.
    struct Node {
        std::intptr_t container;
        const void *type;
        std::intptr_t count;
        Object *const *keys;  // of a dict
    };

    struct Plan {
        int (*program)(void *, void **);
        const Node *nodes;  // of the positional arguments, and of those by name
        std::intptr_t leaves;
        std::intptr_t given;  // leaves, and what the call does not pass
        const Kind *kinds;
        std::intptr_t arguments;
        const Source *sources;
    };

    union Number {
        double pair[2];
        float single[2];
        std::int64_t whole;
        std::int32_t half;
        std::int16_t quarter;
        std::int8_t byte;
    };

    bool same(const Dtype *one, const Dtype *other)
    {
        return one == other || (one->number == other->number && one->order == other->order && one->kind != 'V');
    }

    bool fits(const Kind &kind, Object *object)
    {
        if (object->type != kind.type) return false;
        if (kind.dtype) {
            const auto *array = reinterpret_cast<const Array *>(object);
            return array->rank == kind.rank && (array->flags & C_CONTIGUOUS) && same(array->dtype, kind.dtype) &&
                   !std::memcmp(array->shape, kind.shape, sizeof(std::intptr_t) * kind.rank);
        }
        if (!kind.value || object == kind.value) return true;
        return kind.rank != AS_IT_IS && PyObject_RichCompareBool(object, kind.value, EQUAL) == 1;
    }

    std::intptr_t size_of(const Node &node, Object *object)
    {
        return node.container == TUPLE ? PyTuple_Size(object)
             : node.container == LIST  ? PyList_Size(object)
                                       : PyDict_Size(object);
    }

    bool same_key(Object *one, Object *other)
    {
        return one == other || (one->type == other->type && PyObject_RichCompareBool(one, other, EQUAL) == 1);
    }

    // The next part of a container; null if that of a dict has another key.
    Object *next_part(const Node &node, Object *object, std::intptr_t k, std::intptr_t &position)
    {
        if (node.container == TUPLE) return PyTuple_GetItem(object, k);
        if (node.container == LIST) return PyList_GetItem(object, k);
        Object *key = nullptr, *part = nullptr;
        return PyDict_Next(object, &position, &key, &part) && same_key(key, node.keys[k]) ? part : nullptr;
    }

    // Collect the leaves of a nest, from the first; null if it has another form.
    Object **flatten(const Node *&node, Object *object, Object **leaf)
    {
        const Node &own = *node++;
        if (own.container == LEAF) {
            *leaf = object;
            return leaf + 1;
        }
        if (object->type != own.type) return nullptr;
        if (own.container == NONE) return leaf;
        if (size_of(own, object) != own.count) return nullptr;
        std::intptr_t position = 0;
        for (std::intptr_t k = 0; k < own.count && leaf; ++k) {
            Object *part = next_part(own, object, k, position);
            leaf = part ? flatten(node, part, leaf) : nullptr;
        }
        return leaf;
    }

    // What a call is given: the leaves of its arguments, and what it does not pass. False if it is of another kind.
    bool collect(const Plan &plan, Object *args, Object *named, Object *others, Object **given)
    {
        const Node *node = plan.nodes;
        Object **leaf = flatten(node, args, given);
        leaf = leaf ? flatten(node, named, leaf) : nullptr;
        if (!leaf || PyTuple_Size(others) != plan.given - plan.leaves) return false;
        for (std::intptr_t k = plan.leaves; k < plan.given; ++k) given[k] = PyTuple_GetItem(others, k - plan.leaves);
        for (std::intptr_t k = 0; k < plan.given; ++k) {
            if (!fits(plan.kinds[k], given[k])) return false;
        }
        return true;
    }

    // An array on the stack, of a few elements, or on the heap.
    template <typename T>
    struct Few {
        T few[64];
        std::vector<T> many;
        T *first;
        explicit Few(std::intptr_t count) : many(count > 64 ? count : 0), first(count > 64 ? many.data() : few) {}
    };

    // A number in the type of the program; false if it has none there.
    bool convert(const Source &source, Object *object, Number &number)
    {
        if (source.letter == 'c' || source.letter == 'f') {
            const double parts[2] = {PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)};
            const std::intptr_t own = source.letter == 'c' ? source.size / 2 : source.size;
            for (int k = 0; k < 2; ++k) {
                if (own == 8) number.pair[k] = parts[k];
                else number.single[k] = float(parts[k]);
            }
            if (source.letter == 'f' && parts[1] != 0.0) return false;
        } else {
            const long long whole = PyLong_AsLongLong(object);
            if (whole >> 31 != 0 && whole >> 31 != -1) return false;  // it may have long products
            const int spare = 64 - 8 * int(source.size);
            if ((source.letter != 'i' && whole < 0) || whole << spare >> spare != whole) return false;
            if (source.size == 8) number.whole = whole;
            else if (source.size == 4) number.half = std::int32_t(whole);
            else if (source.size == 2) number.quarter = std::int16_t(whole);
            else number.byte = std::int8_t(whole);
        }
        if (!PyErr_Occurred()) return true;
        PyErr_Clear();
        return false;
    }

    char *data(Object *object)
    {
        return reinterpret_cast<Array *>(object)->data;
    }

    // True if an array that the program writes is a part of another argument.
    bool shares_memory(const Plan &plan, std::intptr_t own, Object *const *given)
    {
        const Source &written = plan.sources[own];
        const char *begin = data(given[written.given]), *end = begin + written.size;
        for (std::intptr_t k = 0; k < plan.arguments; ++k) {
            const Source &source = plan.sources[k];
            if (k == own || (source.from != GIVEN && source.from != COPIED)) continue;
            const char *other = data(given[source.given]);
            if (other < end && begin < other + source.size) return true;
        }
        return false;
    }
}  // namespace

extern "C" {
// True if a call is such as one was prepared for.
int sdgrad_fits(const Plan *plan, Object *args, Object *named, Object *others)
{
    Few<Object *> given(plan->given);
    const bool found = collect(*plan, args, named, others, given.first);
    if (!PyErr_Occurred()) return found;
    PyErr_Clear();
    return 0;
}

// Run on the arguments of a call, and on the list of arrays that it has made; return what the program does, and 0
// if the call is of another kind.
int sdgrad_run(void *state, const Plan *plan, Object *args, Object *named, Object *others, Object *made)
{
    Few<Object *> given(plan->given);
    Few<Number> number(plan->arguments);
    Few<void *> place(plan->arguments);
    void **places = place.first;
    const bool found = collect(*plan, args, named, others, given.first);
    if (PyErr_Occurred()) PyErr_Clear();
    if (!found) return 0;
    for (std::intptr_t k = 0; k < plan->arguments; ++k) {
        const Source &source = plan->sources[k];
        if (source.from == FIXED) {
            places[k] = const_cast<void *>(source.fixed);
            continue;
        }
        Object *object = source.from == MADE ? nullptr : given.first[source.given];
        if (source.from == NUMBER) {
            if (!convert(source, object, number.first[k])) return 0;
            places[k] = &number.first[k];
            continue;
        }
        places[k] = data(source.from == GIVEN ? object : PyList_GetItem(made, source.made));
        if (source.from == COPIED) {
            if (shares_memory(*plan, k, given.first)) return 0;  // which is refused
            std::memcpy(places[k], data(object), source.size);
        }
    }
    void *thread = PyEval_SaveThread();
    const int done = plan->program(state, places);
    PyEval_RestoreThread(thread);
    return done;
}

// What the structures tell of an array: address, rank, first extent, dtype, number, order, flags.
void sdgrad_describe(Object *object, std::intptr_t *told)
{
    const auto *array = reinterpret_cast<const Array *>(object);
    told[0] = reinterpret_cast<std::intptr_t>(array->data);
    told[1] = array->rank;
    told[2] = array->shape[0];
    told[3] = reinterpret_cast<std::intptr_t>(array->dtype);
    told[4] = array->dtype->number;
    told[5] = array->dtype->order;
    told[6] = array->flags;
}
}
