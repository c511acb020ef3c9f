// Arrays in files, as programs have them that keep states of loops on the disk (sdgrad_disk.h); others have none.
#pragma once

#include <cstddef>
#include <new>

namespace sdgrad
{
    constexpr std::size_t ON_DISK = std::size_t(1) << 16;  // the alignment of such arrays

    struct NoDisk : std::bad_alloc
    {
    };

    struct Files
    {
        void *(*map)(std::size_t bytes);
        void (*unmap)(void *array);
        void (*leave)();
        void (*drop)(const void *call);
    };

    inline Files in_files{};

    // Take the pages of files out of the process, if some have been used.
    inline void leave_files(bool used)
    {
        if (used && in_files.leave)
            in_files.leave();
    }
}  // namespace sdgrad
