/* Count the messages and the bytes that a process sends, by the profiling interface of MPI: it is loaded before MPI. */
#include <mpi.h>

static long long sent[4]; /* messages, their bytes; calls of all ranks, the bytes that this one gives to them */

const long long* sent_so_far(void) { return sent; }

static void count(int at, long long n, MPI_Datatype type) {
    int size;
    PMPI_Type_size(type, &size);
    sent[at] += 1;
    sent[at + 1] += n * size;
}
int MPI_Send(const void* x, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    count(0, n, type);
    return PMPI_Send(x, n, type, to, tag, comm);
}
int MPI_Isend(const void* x, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
    count(0, n, type);
    return PMPI_Isend(x, n, type, to, tag, comm, request);
}
int MPI_Sendrecv(const void* x, int n, MPI_Datatype type, int to, int tag, void* y, int m, MPI_Datatype other, int from,
                 int tag2, MPI_Comm comm, MPI_Status* status) {
    count(0, n, type);
    return PMPI_Sendrecv(x, n, type, to, tag, y, m, other, from, tag2, comm, status);
}
int MPI_Allreduce(const void* x, void* y, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    count(2, n, type);
    return PMPI_Allreduce(x, y, n, type, op, comm);
}
