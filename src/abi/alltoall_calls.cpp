// SPDX-License-Identifier: Apache-2.0
// Alltoall with blocks of one size, of many, and of many types (MPI-5.0 section 6.8).
#include "abi/block_check.hpp"
#include "abi_calls.hpp"

namespace headway::abi {
namespace {

using object::Communicator;
using object::CountArray;
using protocol::coll::Collective;

template <typename Side>
int alltoall(Call& call, Collective kind, const Side& sent, const Side& received,
             Communicator& comm, Completion completion)
{
    return run_unrooted(call, kind, sent, size_of(comm), received, comm, completion);
}

ListedSide typed(const void* buffer, CountArray counts, CountArray displacements,
                 const MPI_Datatype datatypes[])
{
    return {buffer, counts, displacements, MPI_DATATYPE_NULL, datatypes};
}

}  // namespace

namespace call {

int Alltoall(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm)
{
    return alltoall(call, Collective::alltoall, UniformSide{sendbuf, sendcount, sendtype},
                    UniformSide{recvbuf, recvcount, recvtype}, *comm, nullptr);
}

int Ialltoall(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm,
              MPI_Request* request)
{
    return alltoall(call, Collective::alltoall, UniformSide{sendbuf, sendcount, sendtype},
                    UniformSide{recvbuf, recvcount, recvtype}, *comm, request);
}

int Alltoall_init(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm,
                  MPI_Info /*info*/, MPI_Request* request)
{
    return alltoall(call, Collective::alltoall, UniformSide{sendbuf, sendcount, sendtype},
                    UniformSide{recvbuf, recvcount, recvtype}, *comm,
                    Completion::on_start(request));
}

int Alltoallv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
              MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
              MPI_Datatype recvtype, Communicator* comm)
{
    return alltoall(call, Collective::alltoallv, listed(sendbuf, sendcounts, sdispls, sendtype),
                    listed(recvbuf, recvcounts, rdispls, recvtype), *comm, nullptr);
}

int Ialltoallv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
               MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
               MPI_Datatype recvtype, Communicator* comm, MPI_Request* request)
{
    return alltoall(call, Collective::alltoallv, listed(sendbuf, sendcounts, sdispls, sendtype),
                    listed(recvbuf, recvcounts, rdispls, recvtype), *comm, request);
}

int Alltoallv_init(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                   MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                   MPI_Datatype recvtype, Communicator* comm, MPI_Info /*info*/,
                   MPI_Request* request)
{
    return alltoall(call, Collective::alltoallv, listed(sendbuf, sendcounts, sdispls, sendtype),
                    listed(recvbuf, recvcounts, rdispls, recvtype), *comm,
                    Completion::on_start(request));
}

int Alltoallw(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
              const MPI_Datatype sendtypes[], void* recvbuf, CountArray recvcounts,
              CountArray rdispls, const MPI_Datatype recvtypes[], Communicator* comm)
{
    return alltoall(call, Collective::alltoallv, typed(sendbuf, sendcounts, sdispls, sendtypes),
                    typed(recvbuf, recvcounts, rdispls, recvtypes), *comm, nullptr);
}

int Ialltoallw(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
               const MPI_Datatype sendtypes[], void* recvbuf, CountArray recvcounts,
               CountArray rdispls, const MPI_Datatype recvtypes[], Communicator* comm,
               MPI_Request* request)
{
    return alltoall(call, Collective::alltoallv, typed(sendbuf, sendcounts, sdispls, sendtypes),
                    typed(recvbuf, recvcounts, rdispls, recvtypes), *comm, request);
}

int Alltoallw_init(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                   const MPI_Datatype sendtypes[], void* recvbuf, CountArray recvcounts,
                   CountArray rdispls, const MPI_Datatype recvtypes[], Communicator* comm,
                   MPI_Info /*info*/, MPI_Request* request)
{
    return alltoall(call, Collective::alltoallv, typed(sendbuf, sendcounts, sdispls, sendtypes),
                    typed(recvbuf, recvcounts, rdispls, recvtypes), *comm,
                    Completion::on_start(request));
}

}  // namespace call
}  // namespace headway::abi
