// Arrays of generated code in files, for states of loops that find no room in memory.
//
// Each array is a file without a name, mapped into memory: the system frees it with the mapping, or with the process,
// however that ends. Files lie in the folder that SDGRAD_DISK_FOLDER names, or else in /var/tmp.
#pragma once

#include "sdgrad_memory.h"
#include "sdgrad_online_schedule.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sdgrad
{
    struct Mapping
    {
        void *memory;
        std::size_t bytes;
        Mapping *next;
        const void *call;  // the one that made it
    };

    inline Mapping *mappings = nullptr;  // of all programs of the process; changed where `pool` is entered

    inline std::string disk_folder()
    {
        const char *found = std::getenv("SDGRAD_DISK_FOLDER");
        return found && *found ? found : "/var/tmp";
    }

    inline int nameless_file()
    {
        const std::string folder = disk_folder();
#ifdef O_TMPFILE
        if (const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); file >= 0)
            return file;
#endif
        std::string path = folder + "/sdgrad_XXXXXX";
        const int file = mkstemp(path.data());
        if (file >= 0)
            unlink(path.c_str());
        return file;
    }

    // Room for some bytes on the disk: a file that only says how long it is would end the process where the disk is full.
    inline bool reserved(int file, std::size_t bytes)
    {
#ifdef __linux__
        if (fallocate(file, 0, 0, off_t(bytes)) == 0)
            return true;
        if (errno != EOPNOTSUPP)
            return false;
#endif
        return ftruncate(file, off_t(bytes)) == 0;
    }

    __attribute__((noinline)) inline void *map_file(std::size_t bytes)
    {
        const int file = nameless_file();
        void *memory = MAP_FAILED;
        if (file >= 0 && reserved(file, bytes))
            memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file >= 0)
            close(file);
        if (memory == MAP_FAILED)
            throw NoDisk();
        Mapping *made = new Mapping{memory, bytes, nullptr, current};
        pool.enter();
        made->next = mappings;
        mappings = made;
        pool.leave();
        return memory;
    }

    __attribute__((noinline)) inline void unmap_file(void *memory)
    {
        pool.enter();
        Mapping **at = &mappings;
        while (*at && (*at)->memory != memory)
            at = &(*at)->next;
        Mapping *found = *at;
        if (found)
            *at = found->next;
        pool.leave();
        if (found)
            munmap(found->memory, found->bytes);
        delete found;
    }

    // Free the files of a call that an exception has ended.
    inline void drop_mappings(const void *call)
    {
        for (Mapping *found = mappings; found;) {
            void *memory = found->call == call ? found->memory : nullptr;
            found = found->next;
            if (memory)
                unmap_file(memory);
        }
    }

    // The pages are on the disk, or on their way, and are read again if needed.
    inline void leave_mappings()
    {
        pool.enter();
        for (const Mapping *m = mappings; m; m = m->next)
            madvise(m->memory, m->bytes, MADV_DONTNEED);
        pool.leave();
    }

    inline const bool has_files = (in_files = {map_file, unmap_file, leave_mappings, drop_mappings}, true);
}  // namespace sdgrad
