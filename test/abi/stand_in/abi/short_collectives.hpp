// SPDX-License-Identifier: Apache-2.0
// As short_way.hpp beside it.
#pragma once

#include <mpi.h>

namespace headway::abi::short_way {

inline bool Bcast(void*, MPI_Count, MPI_Datatype, int, MPI_Comm)
{
    return false;
}
inline bool Scatter(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int,
                    MPI_Comm)
{
    return false;
}
inline bool Gather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int,
                   MPI_Comm)
{
    return false;
}
inline bool Reduce(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm)
{
    return false;
}
inline bool Barrier(MPI_Comm)
{
    return false;
}
inline bool Allgather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                      MPI_Comm)
{
    return false;
}
inline bool Allreduce(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
{
    return false;
}
inline bool Alltoall(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm)
{
    return false;
}

}  // namespace headway::abi::short_way
