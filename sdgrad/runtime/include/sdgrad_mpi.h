// Calls of MPI, by the library that the process has loaded and with the handles that the caller gives.
//
// No header of an MPI is read, so that a program works with whatever MPI the process uses: only the type of handles
// differs, int (MPICH and its kin) or a pointer (Open MPI, and the standard ABI of MPI 5). A failed call ends all ranks.
#pragma once

#include <dlfcn.h>
#include <unistd.h>
#ifdef __linux__
#include <link.h>
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sdgrad::mpi {

#ifdef __linux__
inline int find_in(dl_phdr_info* info, size_t, void* found) {
    if (!info->dlpi_name || !std::strstr(info->dlpi_name, "mpi")) return 0;
    void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return 0;
    if (dlsym(library, "MPI_Comm_rank")) *static_cast<void**>(found) = library;
    return *static_cast<void**>(found) != nullptr;
}
#endif

inline void* library() {
    void* found = nullptr;
#ifdef __linux__
    if (!dlsym(RTLD_DEFAULT, "MPI_Comm_rank")) dl_iterate_phdr(find_in, &found);
#endif
    return found ? found : RTLD_DEFAULT;
}

inline void* symbol(const char* name) {
    static void* from = library();
    void* found = dlsym(from, name);
    if (!found) {
        std::fprintf(stderr, "sdgrad: this process has no %s: import mpi4py.MPI before the program is called\n", name);
        std::abort();
    }
    return found;
}

// Handles come as 64-bit integers; H is their type in this MPI.
template <class H>
H handle(int64_t bits) {
    H made{};
    std::memcpy(&made, &bits, sizeof(H));  // little-endian: an int is the first half
    return made;
}

// A function of MPI, looked up once for each place that calls it.
struct Function {
    const char* name;
    void* at;
    explicit Function(const char* name) : name(name), at(symbol(name)) {}
};

template <class H>
[[noreturn]] void end_all_ranks(H comm, int code) {
    std::fflush(stderr);
    usleep(200000);  // launchers forward what was written, but not once they end the ranks
    reinterpret_cast<int (*)(H, int)>(symbol("MPI_Abort"))(comm, code);
    std::abort();
}

template <class H>
void check(int code, const char* name, H comm) {
    if (code == 0) return;
    char text[1024] = "";  // longer than the longest of any MPI
    int length = 0;
    reinterpret_cast<int (*)(int, char*, int*)>(symbol("MPI_Error_string"))(code, text, &length);
    std::fprintf(stderr, "sdgrad: %s failed: %s\n", name, text);
    end_all_ranks(comm, code);
}

inline int count(int64_t n) {
    if (n > INT32_MAX) {
        std::fprintf(stderr, "sdgrad: a message of %lld elements is longer than MPI's counts\n", (long long)n);
        std::abort();
    }
    return int(n);
}

// Whom a message goes to or comes from, and its tag.
struct Envelope {
    int peer, tag;
    Envelope(int64_t peer, int64_t tag) : peer(int(peer)), tag(int(tag)) {}
    explicit Envelope(const int64_t* both) : Envelope(both[0], both[1]) {}
};

// A communicator: `handles` hold it, where a status has source and tag, and the types and operators of this MPI.
template <class H>
struct Group {
    const int64_t* handles;
    H comm, type, op;

    Group(const int64_t* handles, int type_at, int op_at)
        : handles(handles),
          comm(handle<H>(handles[0])),
          type(handle<H>(handles[type_at])),
          op(handle<H>(handles[op_at])) {}

    template <class... Given>
    void call(const Function& function, Given... given) const {
        check<H>(reinterpret_cast<int (*)(Given...)>(function.at)(given...), function.name, comm);
    }
    static const void* in(const void* x) { return x; }
    static void* out(void* y) { return y; }

    void send(const void* x, int64_t n, Envelope to) const {
        static const Function function("MPI_Send");
        call(function, in(x), count(n), type, to.peer, to.tag, comm);
    }
    void receive(void* y, int64_t n, Envelope from, int64_t* sender = nullptr) const {
        char status[256];
        static const Function function("MPI_Recv");
        call(function, out(y), count(n), type, from.peer, from.tag, comm, out(status));
        note(status, n, sender);
    }
    void exchange(const void* x, int64_t n, Envelope to, void* y, int64_t m, Envelope from,
                  int64_t* sender = nullptr) const {
        char status[256];
        static const Function function("MPI_Sendrecv");
        call(function, in(x), count(n), type, to.peer, to.tag, out(y), count(m), type, from.peer, from.tag, comm,
             out(status));
        note(status, m, sender);
    }
    template <class T>
    void broadcast(const void* x, T* y, int64_t n, int root, int rank) const {
        static const Function function("MPI_Bcast");
        if (rank == root) std::memcpy(y, x, n * sizeof(T));
        call(function, out(y), count(n), type, root, comm);
    }
    void reduce(const void* x, void* y, int64_t n, int root) const {
        static const Function function("MPI_Reduce");
        call(function, in(x), out(y), count(n), type, op, root, comm);
    }
    void allreduce(const void* x, void* y, int64_t n) const {
        static const Function function("MPI_Allreduce");
        call(function, in(x), out(y), count(n), type, op, comm);
    }
    void scatter(const void* x, const int* counts, const int* starts, void* y, int64_t n, int root) const {
        static const Function function("MPI_Scatterv");
        call(function, in(x), counts, starts, type, out(y), count(n), type, root, comm);
    }
    void gather(const void* x, int64_t n, void* y, const int* counts, const int* starts, int root) const {
        static const Function function("MPI_Gatherv");
        call(function, in(x), count(n), type, out(y), counts, starts, type, root, comm);
    }
    void allgather(const void* x, int64_t n, void* y, const int* counts, const int* starts) const {
        static const Function function("MPI_Allgatherv");
        call(function, in(x), count(n), type, out(y), counts, starts, type, comm);
    }
    void reduce_scatter(const void* x, void* y, const int* counts) const {
        static const Function function("MPI_Reduce_scatter");
        call(function, in(x), out(y), counts, type, op, comm);
    }
    void all_to_all(const void* x, const int* counts, const int* starts, void* y, const int* own,
                    const int* places) const {
        static const Function function("MPI_Alltoallv");
        call(function, in(x), counts, starts, type, out(y), own, places, type, comm);
    }
    // What the ranks before this one have, and this one; backwards: what those after it have.
    void scan(const void* x, void* y, int64_t n, int rank, bool backwards) const {
        static const Function function("MPI_Scan");
        scan_by(function, x, y, n, rank, backwards);
    }
    // The same without this rank; MPI leaves the first one's memory as it was, and the sum of nothing is zero.
    template <class T>
    void exscan(const void* x, T* y, int64_t n, int rank, int size, bool backwards) const {
        static const Function function("MPI_Exscan");
        scan_by(function, x, y, n, rank, backwards);
        if (rank == (backwards ? size - 1 : 0)) std::memset(static_cast<void*>(y), 0, n * sizeof(T));
    }
    void barrier() const {
        static const Function function("MPI_Barrier");
        call(function, comm);
    }

    // What is on its way has memory of its own until somebody waits for it.
    template <class T>
    void start_send(const T* x, T* flight, int64_t n, Envelope to, int64_t* request) const {
        std::memcpy(flight, x, n * sizeof(T));
        static const Function function("MPI_Isend");
        call(function, in(flight), count(n), type, to.peer, to.tag, comm, out(request));
    }
    void start_receive(void* flight, int64_t n, Envelope from, int64_t* request) const {
        static const Function function("MPI_Irecv");
        call(function, out(flight), count(n), type, from.peer, from.tag, comm, out(request));
    }
    void wait(const int64_t* request) const {
        char status[256];
        int64_t own = *request;
        static const Function function("MPI_Wait");
        call(function, out(&own), out(status));
    }
    template <class T>
    void end_receive(const int64_t* request, const T* flight, T* y, int64_t n, int64_t* sender = nullptr) const {
        char status[256];
        int64_t own = *request;
        static const Function function("MPI_Wait");
        call(function, out(&own), out(status));
        note(status, n, sender);
        std::memcpy(y, flight, n * sizeof(T));
    }

    // MPI would read a float of one rank as an integer of another.
    void agree(int64_t type_at, int64_t n) const {
        const int64_t own[4] = {type_at, -type_at, n, -n};
        int64_t all[4];
        allreduce(own, all, 4);
        if (all[0] == -all[1] && all[2] == -all[3]) return;
        std::fprintf(stderr, "sdgrad: ranks give %s to one call of comm.allreduce or its kin: convert them\n",
                     all[0] == -all[1] ? "arrays of several sizes" : "numbers of several types, such as 1 and 1.0");
        end_all_ranks(comm, 1);
    }

   private:
    // A communicator in the other order has ways of its own: no message of the program is taken for one of a scan.
    void scan_by(const Function& function, const void* x, void* y, int64_t n, int rank, bool backwards) const {
        static const Function split("MPI_Comm_split"), release("MPI_Comm_free");
        H ranks = comm;
        if (backwards) call(split, comm, 0, -rank, out(&ranks));
        call(function, in(x), out(y), count(n), type, op, ranks);
        if (backwards) call(release, out(&ranks));
    }

    // What MPI leaves alone of a buffer that is longer than its message would be no part of the program.
    void note(const char* status, int64_t n, int64_t* sender) const {
        static const Function function("MPI_Get_count");
        int found = 0;
        call(function, in(status), type, &found);
        if (found != n) {
            std::fprintf(stderr, "sdgrad: a message of %d elements is received into %lld: receive it into a slice\n",
                         found, (long long)n);
            end_all_ranks(comm, 1);
        }
        for (int k = 0; sender && k < 2; ++k) {
            int found;
            std::memcpy(&found, status + handles[1 + k], sizeof(int));
            sender[k] = found;
        }
    }
};

}  // namespace sdgrad::mpi
