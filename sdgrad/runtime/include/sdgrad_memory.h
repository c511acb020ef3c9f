// Arrays of generated code on the heap, in place of <dace/alloc.h>: memory of large ones is used again.
//
// The system clears the pages that it hands out, and takes those of a large array back when it is freed: for a tape or a
// temporary that a call writes once and reads once, that takes longer than the call. What is freed waits here, for all
// programs of the process together, as far as they take no more than SPARE bytes beside the most that they have used at
// once, and not much of the machine's memory waits; what waits longest is given back first.
#pragma once
#define __DACE_ALLOC_H
#define SDGRAD_POOL

#include "sdgrad_files.h"
#include "sdgrad_interrupt.h"
#include "sdgrad_linked.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace sdgrad
{
    constexpr std::size_t LEAST = std::size_t(1) << 16, SPARE = std::size_t(1) << 28, ALIGNMENT = 64;
    constexpr std::size_t ALONE = std::size_t(1) << 17;  // the alignment of arrays of programs with a limit
    constexpr std::size_t SHARE = 8;  // of the machine's memory: 1/8 may wait
    constexpr std::size_t CHECKED = std::size_t(1) << 30;
    constexpr std::size_t LARGE_PAGE = std::size_t(1) << 21;  // a large one

    // Stands in the ALIGNMENT bytes before an array.
    struct Block
    {
        std::size_t bytes;
        Block *next;
        const void *owner;  // the program with a limit that it belongs to; null for those of all
        Block *after;       // the next array of the call, and where this one is in its list; null if it is in none
        Block **at;
    };
    static_assert(sizeof(Block) <= ALIGNMENT);

    inline Block *block_of(void *array)
    {
        return reinterpret_cast<Block *>(static_cast<char *>(array) - ALIGNMENT);
    }

    inline std::size_t alignment(std::size_t bytes)
    {
        return bytes >= LARGE_PAGE ? LARGE_PAGE : ALIGNMENT;
    }

    struct Pool
    {
        bool busy = false;  // <atomic> would have every program instantiate its templates
        Block *first = nullptr;
        Block *scratch = nullptr;  // the largest that a call has had for itself
        std::size_t used = 0, peak = 0, most = 0;  // bytes of arrays in use, now and at most, and of what may wait

        void enter()
        {
            while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE)) {}
        }

        void leave()
        {
            __atomic_clear(&busy, __ATOMIC_RELEASE);
        }

        // Count the bytes of one more array in use.
        void gain(std::size_t bytes)
        {
            used += bytes;
            peak = used > peak ? used : peak;
        }

        // Take a block of so many bytes; null if none waits.
        Block *take(std::size_t bytes)
        {
            for (Block **at = &first; *at; at = &(*at)->next)
                if ((*at)->bytes == bytes) {
                    Block *found = *at;
                    *at = found->next;
                    gain(bytes);
                    return found;
                }
            return nullptr;
        }

        // Remove the blocks that do not stay.
        template <typename Stays>
        Block *without(Stays stays)
        {
            Block *found = nullptr;
            for (Block **at = &first; *at;) {
                Block *block = *at;
                if (stays(*block)) {
                    at = &block->next;
                } else {
                    *at = block->next;
                    block->next = found;
                    found = block;
                }
            }
            return found;
        }

        // Remove all blocks but those of one owner.
        Block *all(const void *owner = nullptr)
        {
            return without([owner](const Block &block) { return owner && block.owner == owner; });
        }

        // Remove the blocks that there is no room for beside the arrays in use and one to come: what waits longest.
        Block *surplus(std::size_t coming = 0)
        {
            const std::size_t now = used + coming, beside = (peak > now ? peak - now : 0) + SPARE;
            std::size_t room = beside < most ? beside : most;
            return without([&room](const Block &block) {
                const bool stays = block.bytes <= room;
                room -= stays ? block.bytes : 0;
                return stays;
            });
        }
    };

    inline Pool pool;

    // The program with a limit that runs in this thread: what it has left waits for its own next call.
    inline thread_local const void *running = nullptr;

    struct Running
    {
        const void *before;

        explicit Running(const void *program) : before(running)
        {
            running = program;
        }

        ~Running()
        {
            running = before;
        }
    };

    // A call of a program in this thread, with the arrays that it has: where an exception ends it, nobody else frees them.
    struct Call;
    inline thread_local Call *current = nullptr;

    struct Call
    {
        Block *arrays = nullptr;
        Call *before;

        Call() : before(current)
        {
            current = this;
        }

        ~Call()
        {
            current = before;
        }

        void add(Block *block)
        {
            block->after = arrays;
            block->at = &arrays;
            if (arrays)
                arrays->at = &block->after;
            arrays = block;
        }

        static void remove(Block *block)
        {
            if (!block->at)
                return;
            *block->at = block->after;
            if (block->after)
                block->after->at = block->at;
            block->at = nullptr;
        }
    };

    // Memory for an array, and its end.
    SDGRAD_LINKED void *allocate(std::size_t bytes, bool alone = false) __attribute__((assume_aligned(64)));
    SDGRAD_LINKED void release(void *array);

    // Free the arrays of a call that an exception has ended.
    SDGRAD_LINKED void leave(Call &call);

    // Memory of one call of a library while it runs: the same for all of them, as large as the largest one wants.
    SDGRAD_LINKED char *scratch(std::size_t bytes);
    SDGRAD_LINKED void leave_scratch(char *memory);

#ifndef SDGRAD_PROGRAM
    inline void give_back(Block *block)
    {
        while (block) {
            Block *next = block->next;
            std::free(block);
            block = next;
        }
    }

    // A number of a file of the system, in it after a word; 0 if there is none.
    inline std::size_t number_in(const char *file, const char *word)
    {
        std::FILE *from = std::fopen(file, "r");
        if (!from)
            return 0;
        char text[4096];
        text[std::fread(text, 1, sizeof text - 1, from)] = 0;
        std::fclose(from);
        const char *found = std::strstr(text, word);
        return found ? std::strtoull(found + std::strlen(word), nullptr, 10) : 0;
    }

    // True if the machine, or the control group of the process, has less memory: Linux would end the process later, when
    // the array is written.
    __attribute__((noinline)) inline bool is_beyond_memory(std::size_t bytes)
    {
        const std::size_t available = number_in("/proc/meminfo", "MemAvailable:") << 10;
        const std::size_t most = number_in("/sys/fs/cgroup/memory.max", "");
        const bool is_beyond = most && bytes + number_in("/sys/fs/cgroup/memory.current", "") > most;
        return is_beyond || (available && bytes > available);
    }

    // The bytes that may wait on this machine.
    inline std::size_t most_waiting()
    {
        std::size_t memory = number_in("/proc/meminfo", "MemTotal:") << 10;
        const std::size_t group = number_in("/sys/fs/cgroup/memory.max", "");
        memory = group && group < memory ? group : memory;
        return memory / SHARE > SPARE ? memory / SHARE : SPARE;
    }

    // Give back all that waits.
    inline void empty_pool()
    {
        pool.enter();
        Block *all = pool.all(), *scratch = pool.scratch;
        pool.scratch = nullptr;
        pool.peak = pool.used;
        pool.leave();
        give_back(all);
        give_back(scratch);
    }

    // Allocate memory from the system; null if there is too little.
    inline void *from_system(std::size_t bytes)
    {
        void *memory = nullptr;  // new would round the size up to a multiple of the alignment
        if ((bytes >= CHECKED && is_beyond_memory(bytes)) ||
            posix_memalign(&memory, alignment(bytes), bytes + ALIGNMENT) != 0)
            return nullptr;
        return memory;
    }

    SDGRAD_LINKED char *scratch(std::size_t bytes)
    {
        pool.enter();
        Block *found = pool.scratch;
        pool.scratch = nullptr;
        pool.leave();
        if (!found || found->bytes < bytes) {
            give_back(found);
            void *memory = from_system(bytes);
            if (!memory)
                throw std::bad_alloc();
            found = new (memory) Block{bytes, nullptr, nullptr, nullptr, nullptr};
        }
        return reinterpret_cast<char *>(found) + ALIGNMENT;
    }

    SDGRAD_LINKED void leave_scratch(char *memory)
    {
        Block *block = block_of(memory);
        pool.enter();
        if (!pool.scratch || pool.scratch->bytes < block->bytes) {
            Block *smaller = pool.scratch;
            pool.scratch = block;
            block = smaller;
        }
        pool.leave();
        give_back(block);
    }

    SDGRAD_LINKED void *allocate(std::size_t bytes, bool alone)
    {
        const void *owner = alone ? running : nullptr;
        if (bytes >= LEAST) {
            pool.enter();
            Block *found = pool.take(bytes);
            const bool is_within_limit = alone || (running && !found);  // nothing of others waits beside it
            Block *others = is_within_limit ? pool.all(running) : found ? nullptr : pool.surplus(bytes);
            pool.leave();
            give_back(others);
            if (found) {
                found->owner = owner;
                return reinterpret_cast<char *>(found) + ALIGNMENT;
            }
        }
        void *memory = from_system(bytes);
        if (!memory) {
            empty_pool();
            memory = from_system(bytes);
        }
        if (!memory)
            throw std::bad_alloc();
        if (bytes >= LEAST) {
            pool.enter();
            pool.gain(bytes);
            pool.leave();
        }
#ifdef MADV_HUGEPAGE
        // few and large pages, as NumPy asks for: walking through an array, less time goes into finding out where each is
        if (bytes >= LARGE_PAGE)
            madvise(memory, (bytes + ALIGNMENT) / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
#endif
        return reinterpret_cast<char *>(new (memory) Block{bytes, nullptr, owner, nullptr, nullptr}) + ALIGNMENT;
    }

    SDGRAD_LINKED void release(void *array)
    {
        if (!array)
            return;
        Block *block = block_of(array);
        Call::remove(block);
        if (block->bytes >= LEAST) {
            pool.enter();
            pool.used -= block->bytes;
            if (!pool.most)
                pool.most = most_waiting();
            block->next = pool.first;
            pool.first = block;
            block = pool.surplus();
            pool.leave();
        }
        give_back(block);
    }

    SDGRAD_LINKED void leave(Call &call)
    {
        while (call.arrays)
            release(reinterpret_cast<char *>(call.arrays) + ALIGNMENT);
        if (in_files.drop)
            in_files.drop(&call);
    }
#endif
}  // namespace sdgrad

#ifndef SDGRAD_PROGRAM
extern "C" SDGRAD_LINKED void sdgrad_free_memory()
{
    sdgrad::empty_pool();
}
#endif

namespace dace
{
    template <typename T>
    T *aligned_new_array(std::size_t size, std::size_t alignment)
    {
        if (alignment == sdgrad::ON_DISK)
            return static_cast<T *>(sdgrad::in_files.map(size * sizeof(T)));
        if constexpr (std::is_trivially_destructible<T>::value)
        {
            void *array = sdgrad::allocate(size * sizeof(T), alignment == sdgrad::ALONE);
            if (sdgrad::current)
                sdgrad::current->add(sdgrad::block_of(array));
            return static_cast<T *>(array);
        }
        else
            return new T[size];
    }

    template <typename T>
    void aligned_delete_array(T *array, std::size_t alignment)
    {
        if (alignment == sdgrad::ON_DISK)
            sdgrad::in_files.unmap(const_cast<std::remove_cv_t<T> *>(array));
        else if constexpr (std::is_trivially_destructible<T>::value)
            sdgrad::release(const_cast<std::remove_cv_t<T> *>(array));
        else
            delete[] array;
    }
}  // namespace dace
