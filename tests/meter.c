// Count what a process allocates, in blocks of four kilobytes and more: loaded before the C library (LD_PRELOAD).
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define SLOTS (1 << 20)
#define GONE ((void *)1)

static struct {
    void *block;
    long size;
} table[SLOTS];
static char busy;
static long now, most;

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static void enter(void) {
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE)) {}
}

static void leave(void) { __atomic_clear(&busy, __ATOMIC_RELEASE); }

static unsigned start(void *block) { return (unsigned)(((uintptr_t)block >> 4) * 2654435761u) % SLOTS; }

static void *add(void *block, size_t size) {
    if (!block || size < 4096) return block;
    enter();
    unsigned k = start(block);
    while (table[k].block && table[k].block != GONE) k = (k + 1) % SLOTS;
    table[k].block = block, table[k].size = (long)size;
    now += (long)size;
    if (now > most) most = now;
    leave();
    return block;
}

static void drop(void *block) {
    if (!block) return;
    enter();
    unsigned k = start(block);
    while (table[k].block && table[k].block != block) k = (k + 1) % SLOTS;
    if (table[k].block) now -= table[k].size, table[k].block = GONE;
    leave();
}

void *malloc(size_t size) { return add(__libc_malloc(size), size); }
void *calloc(size_t count, size_t size) { return add(__libc_calloc(count, size), count * size); }
void *memalign(size_t alignment, size_t size) { return add(__libc_memalign(alignment, size), size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

void *realloc(void *block, size_t size) {
    drop(block);
    return add(__libc_realloc(block, size), size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

void free(void *block) {
    drop(block);
    __libc_free(block);
}

long meter_start(void) { return most = now; }
long meter_most(void) { return most; }
