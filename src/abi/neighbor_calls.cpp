// SPDX-License-Identifier: Apache-2.0
// Neighbourhood collectives (MPI-5.0 sections 8.6 to 8.8).
#include "abi/block_check.hpp"
#include "abi_calls.hpp"

namespace headway::abi {
namespace {

using object::CollectiveCall;
using object::Communicator;
using object::CountArray;
using protocol::coll::Collective;

template <typename Sent, typename Received>
int exchange(Call& call, Collective kind, const Sent& sent, std::uint32_t blocks,
             const Received& received, Communicator& comm, Completion completion)
{
    if (comm.topology() == nullptr) {
        return call.fail(MPI_ERR_TOPOLOGY,
                         "the communicator has no topology and so no neighbours; give one of "
                         "MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create");
    }
    CollectiveCall collective;
    collective.collective = kind;
    const auto sources = static_cast<std::uint32_t>(comm.source_count());
    if (!set_sides(call, collective, sent, blocks, received, sources)) {
        return MPI_ERR_COUNT;
    }
    return run_with_blocks(call, comm, std::move(collective), completion, [&](BlockNotes& notes) {
        notes.exchange_with_neighbors(sent, kind == Collective::neighbor_allgather, received);
    });
}

template <typename Received>
int allgather(Call& call, const UniformSide& sent, const Received& received, Communicator& comm,
              Completion completion)
{
    return exchange(call, Collective::neighbor_allgather, sent, 1, received, comm, completion);
}

template <typename Side>
int alltoall(Call& call, const Side& sent, const Side& received, Communicator& comm,
             Completion completion)
{
    return exchange(call, Collective::neighbor_alltoall, sent,
                    static_cast<std::uint32_t>(comm.destination_count()), received, comm,
                    completion);
}

ListedSide typed(const void* buffer, CountArray counts, const MPI_Aint displacements[],
                 const MPI_Datatype datatypes[])
{
    return {buffer, counts, CountArray(displacements), MPI_DATATYPE_NULL, datatypes};
}

}  // namespace

namespace call {

int Neighbor_allgather(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                       void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                       Communicator* comm)
{
    return allgather(call, UniformSide{sendbuf, sendcount, sendtype},
                     UniformSide{recvbuf, recvcount, recvtype}, *comm, nullptr);
}

int Ineighbor_allgather(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                        void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                        Communicator* comm, MPI_Request* request)
{
    return allgather(call, UniformSide{sendbuf, sendcount, sendtype},
                     UniformSide{recvbuf, recvcount, recvtype}, *comm, request);
}

int Neighbor_allgather_init(Call& call, const void* sendbuf, MPI_Count sendcount,
                            MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                            MPI_Datatype recvtype, Communicator* comm, MPI_Info /*info*/,
                            MPI_Request* request)
{
    return allgather(call, UniformSide{sendbuf, sendcount, sendtype},
                     UniformSide{recvbuf, recvcount, recvtype}, *comm,
                     Completion::on_start(request));
}

int Neighbor_allgatherv(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                        void* recvbuf, CountArray recvcounts, CountArray displs,
                        MPI_Datatype recvtype, Communicator* comm)
{
    return allgather(call, UniformSide{sendbuf, sendcount, sendtype},
                     listed(recvbuf, recvcounts, displs, recvtype), *comm, nullptr);
}

int Ineighbor_allgatherv(Call& call, const void* sendbuf, MPI_Count sendcount,
                         MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts,
                         CountArray displs, MPI_Datatype recvtype, Communicator* comm,
                         MPI_Request* request)
{
    return allgather(call, UniformSide{sendbuf, sendcount, sendtype},
                     listed(recvbuf, recvcounts, displs, recvtype), *comm, request);
}

int Neighbor_allgatherv_init(Call& call, const void* sendbuf, MPI_Count sendcount,
                             MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts,
                             CountArray displs, MPI_Datatype recvtype, Communicator* comm,
                             MPI_Info /*info*/, MPI_Request* request)
{
    return allgather(call, UniformSide{sendbuf, sendcount, sendtype},
                     listed(recvbuf, recvcounts, displs, recvtype), *comm,
                     Completion::on_start(request));
}

int Neighbor_alltoall(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm)
{
    return alltoall(call, UniformSide{sendbuf, sendcount, sendtype},
                    UniformSide{recvbuf, recvcount, recvtype}, *comm, nullptr);
}

int Ineighbor_alltoall(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                       void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                       Communicator* comm, MPI_Request* request)
{
    return alltoall(call, UniformSide{sendbuf, sendcount, sendtype},
                    UniformSide{recvbuf, recvcount, recvtype}, *comm, request);
}

int Neighbor_alltoall_init(Call& call, const void* sendbuf, MPI_Count sendcount,
                           MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                           MPI_Datatype recvtype, Communicator* comm, MPI_Info /*info*/,
                           MPI_Request* request)
{
    return alltoall(call, UniformSide{sendbuf, sendcount, sendtype},
                    UniformSide{recvbuf, recvcount, recvtype}, *comm,
                    Completion::on_start(request));
}

int Neighbor_alltoallv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                       MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts,
                       CountArray rdispls, MPI_Datatype recvtype, Communicator* comm)
{
    return alltoall(call, listed(sendbuf, sendcounts, sdispls, sendtype),
                    listed(recvbuf, recvcounts, rdispls, recvtype), *comm, nullptr);
}

int Ineighbor_alltoallv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                        MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts,
                        CountArray rdispls, MPI_Datatype recvtype, Communicator* comm,
                        MPI_Request* request)
{
    return alltoall(call, listed(sendbuf, sendcounts, sdispls, sendtype),
                    listed(recvbuf, recvcounts, rdispls, recvtype), *comm, request);
}

int Neighbor_alltoallv_init(Call& call, const void* sendbuf, CountArray sendcounts,
                            CountArray sdispls, MPI_Datatype sendtype, void* recvbuf,
                            CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype,
                            Communicator* comm, MPI_Info /*info*/, MPI_Request* request)
{
    return alltoall(call, listed(sendbuf, sendcounts, sdispls, sendtype),
                    listed(recvbuf, recvcounts, rdispls, recvtype), *comm,
                    Completion::on_start(request));
}

int Neighbor_alltoallw(Call& call, const void* sendbuf, CountArray sendcounts,
                       const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
                       CountArray recvcounts, const MPI_Aint rdispls[],
                       const MPI_Datatype recvtypes[], Communicator* comm)
{
    return alltoall(call, typed(sendbuf, sendcounts, sdispls, sendtypes),
                    typed(recvbuf, recvcounts, rdispls, recvtypes), *comm, nullptr);
}

int Ineighbor_alltoallw(Call& call, const void* sendbuf, CountArray sendcounts,
                        const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
                        CountArray recvcounts, const MPI_Aint rdispls[],
                        const MPI_Datatype recvtypes[], Communicator* comm, MPI_Request* request)
{
    return alltoall(call, typed(sendbuf, sendcounts, sdispls, sendtypes),
                    typed(recvbuf, recvcounts, rdispls, recvtypes), *comm, request);
}

int Neighbor_alltoallw_init(Call& call, const void* sendbuf, CountArray sendcounts,
                            const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
                            CountArray recvcounts, const MPI_Aint rdispls[],
                            const MPI_Datatype recvtypes[], Communicator* comm, MPI_Info /*info*/,
                            MPI_Request* request)
{
    return alltoall(call, typed(sendbuf, sendcounts, sdispls, sendtypes),
                    typed(recvbuf, recvcounts, rdispls, recvtypes), *comm,
                    Completion::on_start(request));
}

}  // namespace call
}  // namespace headway::abi
