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
    constexpr int C_CONTIGUOUS = 1, EQUAL = 2;

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

    struct Plan {
        void (*program)(void *, void **);
        std::intptr_t given;
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
        return !kind.value || object == kind.value || PyObject_RichCompareBool(object, kind.value, EQUAL) == 1;
    }

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
}  // namespace

extern "C" {
// True if the objects of a call are such as a call was prepared for.
int sdgrad_fits(const Plan *plan, Object *objects)
{
    if (PyTuple_Size(objects) != plan->given) return 0;
    for (std::intptr_t k = 0; k < plan->given; ++k) {
        if (!fits(plan->kinds[k], PyTuple_GetItem(objects, k))) return 0;
    }
    if (!PyErr_Occurred()) return 1;
    PyErr_Clear();
    return 0;
}

// Run on objects, and on the list of arrays that this call has made; 0 if an object does not fit.
int sdgrad_run(void *state, const Plan *plan, Object *objects, Object *made)
{
    if (!sdgrad_fits(plan, objects)) return 0;
    constexpr std::intptr_t FEW = 64;
    Number few_numbers[FEW];
    void *few_places[FEW];
    std::vector<Number> numbers(plan->arguments > FEW ? plan->arguments : 0);
    std::vector<void *> many(plan->arguments > FEW ? plan->arguments : 0);
    Number *number = plan->arguments > FEW ? numbers.data() : few_numbers;
    void **places = plan->arguments > FEW ? many.data() : few_places;
    for (std::intptr_t k = 0; k < plan->arguments; ++k) {
        const Source &source = plan->sources[k];
        if (source.from == FIXED) {
            places[k] = const_cast<void *>(source.fixed);
            continue;
        }
        Object *object = source.from == MADE ? nullptr : PyTuple_GetItem(objects, source.given);
        if (source.from == NUMBER) {
            if (!convert(source, object, number[k])) return 0;
            places[k] = &number[k];
            continue;
        }
        places[k] = data(source.from == GIVEN ? object : PyList_GetItem(made, source.made));
        if (source.from == COPIED) std::memcpy(places[k], data(object), source.size);
    }
    void *thread = PyEval_SaveThread();
    plan->program(state, places);
    PyEval_RestoreThread(thread);
    return 1;
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
