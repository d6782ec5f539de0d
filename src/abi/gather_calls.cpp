// SPDX-License-Identifier: Apache-2.0
// Gather, scatter and allgather with blocks of one size and of many (MPI-5.0 sections 6.5 to 6.7).
#include <type_traits>

#include "abi/block_check.hpp"
#include "abi_calls.hpp"

namespace headway::abi {
namespace {

using object::CollectiveCall;
using object::Communicator;
using object::CountArray;
using protocol::coll::Collective;

/// A call in which `own` is the block of this rank, which at the root may be in place.
CollectiveCall rooted(Collective kind, int root, const UniformSide& own, const Communicator& comm)
{
    CollectiveCall collective;
    collective.collective = kind;
    collective.root = joint_root(root, comm);
    collective.in_place = has_own_part(root) && is_at_root(root, comm) && is_in_place(own.buffer);
    return collective;
}

/// Whether the root has room for the block that it gives itself; of v-forms the copy itself says
/// so. False: the call has failed.
template <typename All>
bool has_room_for_own(Call& call, std::uint64_t given, std::uint64_t room)
{
    if (given <= room || std::is_same_v<All, ListedSide>) [[likely]] {
        return true;
    }
    call.fail(MPI_ERR_TRUNCATE,
              "the root gives itself a block of %llu bytes and has room for %llu; give both sides "
              "the same count and type",
              static_cast<unsigned long long>(given), static_cast<unsigned long long>(room));
    return false;
}

/// Gather and gatherv. `All` describes the blocks of all ranks, at the root.
template <typename All>
int gather(Call& call, const UniformSide& own, const All& all, int root, Communicator& comm,
           Completion completion)
{
    CollectiveCall collective = rooted(Collective::gather, root, own, comm);
    collective.is_listed = std::is_same_v<All, ListedSide>;
    const bool gives = has_own_part(root) && !collective.in_place;
    const bool takes = is_at_root(root, comm);
    if (gives && !set_send(call, collective, own, 1)) {
        return MPI_ERR_COUNT;
    }
    const std::uint64_t given = collective.count;
    if (takes && !set_receive(call, collective, all, size_of(comm))) {
        return MPI_ERR_COUNT;
    }
    if (gives && takes && !has_room_for_own<All>(call, given, collective.count)) [[unlikely]] {
        return MPI_ERR_TRUNCATE;
    }
    return run_with_blocks(call, comm, std::move(collective), completion, [&](BlockNotes& notes) {
        if (!comm.is_inter() && std::is_same_v<All, UniformSide>) {
            return;
        }
        if (gives) {
            notes.give(own, 0, joint_root(root, comm));
        }
        for (std::uint32_t i = 0; takes && i < size_of(comm); ++i) {
            const std::uint32_t peer = notes.joint_peer(i);
            if (gives || peer != notes.own()) {
                notes.take(all, i, peer);
            }
        }
    });
}

template <typename All>
int scatter(Call& call, const All& all, const UniformSide& own, int root, Communicator& comm,
            Completion completion)
{
    CollectiveCall collective = rooted(Collective::scatter, root, own, comm);
    collective.is_listed = std::is_same_v<All, ListedSide>;
    const bool takes = has_own_part(root) && !collective.in_place;
    const bool gives = is_at_root(root, comm);
    if (takes && !set_receive(call, collective, own, 1)) {
        return MPI_ERR_COUNT;
    }
    const std::uint64_t room = collective.count;
    if (gives && !set_send(call, collective, all, size_of(comm))) {
        return MPI_ERR_COUNT;
    }
    if (gives && takes && !has_room_for_own<All>(call, collective.count, room)) [[unlikely]] {
        return MPI_ERR_TRUNCATE;
    }
    return run_with_blocks(call, comm, std::move(collective), completion, [&](BlockNotes& notes) {
        if (!comm.is_inter() && std::is_same_v<All, UniformSide>) {
            return;
        }
        if (takes) {
            notes.take(own, 0, joint_root(root, comm));
        }
        for (std::uint32_t i = 0; gives && i < size_of(comm); ++i) {
            const std::uint32_t peer = notes.joint_peer(i);
            if (takes || peer != notes.own()) {
                notes.give(all, i, peer);
            }
        }
    });
}

template <typename All>
int allgather(Call& call, Collective kind, const UniformSide& own, const All& all,
              Communicator& comm, Completion completion)
{
    return run_unrooted(call, kind, own, 1, all, comm, completion);
}

}  // namespace

namespace call {

int Gather(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
           void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, Communicator* comm)
{
    return gather(call, UniformSide{sendbuf, sendcount, sendtype},
                  UniformSide{recvbuf, recvcount, recvtype}, root, *comm, nullptr);
}

int Igather(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
            void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, Communicator* comm,
            MPI_Request* request)
{
    return gather(call, UniformSide{sendbuf, sendcount, sendtype},
                  UniformSide{recvbuf, recvcount, recvtype}, root, *comm, request);
}

int Gather_init(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                Communicator* comm, MPI_Info /*info*/, MPI_Request* request)
{
    return gather(call, UniformSide{sendbuf, sendcount, sendtype},
                  UniformSide{recvbuf, recvcount, recvtype}, root, *comm,
                  Completion::on_start(request));
}

int Gatherv(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
            void* recvbuf, CountArray recvcounts, CountArray displs, MPI_Datatype recvtype,
            int root, Communicator* comm)
{
    return gather(call, UniformSide{sendbuf, sendcount, sendtype},
                  listed(recvbuf, recvcounts, displs, recvtype), root, *comm, nullptr);
}

int Igatherv(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
             void* recvbuf, CountArray recvcounts, CountArray displs, MPI_Datatype recvtype,
             int root, Communicator* comm, MPI_Request* request)
{
    return gather(call, UniformSide{sendbuf, sendcount, sendtype},
                  listed(recvbuf, recvcounts, displs, recvtype), root, *comm, request);
}

int Gatherv_init(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                 void* recvbuf, CountArray recvcounts, CountArray displs, MPI_Datatype recvtype,
                 int root, Communicator* comm, MPI_Info /*info*/, MPI_Request* request)
{
    return gather(call, UniformSide{sendbuf, sendcount, sendtype},
                  listed(recvbuf, recvcounts, displs, recvtype), root, *comm,
                  Completion::on_start(request));
}

int Scatter(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
            void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, Communicator* comm)
{
    return scatter(call, UniformSide{sendbuf, sendcount, sendtype},
                   UniformSide{recvbuf, recvcount, recvtype}, root, *comm, nullptr);
}

int Iscatter(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
             Communicator* comm, MPI_Request* request)
{
    return scatter(call, UniformSide{sendbuf, sendcount, sendtype},
                   UniformSide{recvbuf, recvcount, recvtype}, root, *comm, request);
}

int Scatter_init(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                 Communicator* comm, MPI_Info /*info*/, MPI_Request* request)
{
    return scatter(call, UniformSide{sendbuf, sendcount, sendtype},
                   UniformSide{recvbuf, recvcount, recvtype}, root, *comm,
                   Completion::on_start(request));
}

int Scatterv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray displs,
             MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
             int root, Communicator* comm)
{
    return scatter(call, listed(sendbuf, sendcounts, displs, sendtype),
                   UniformSide{recvbuf, recvcount, recvtype}, root, *comm, nullptr);
}

int Iscatterv(Call& call, const void* sendbuf, CountArray sendcounts, CountArray displs,
              MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
              int root, Communicator* comm, MPI_Request* request)
{
    return scatter(call, listed(sendbuf, sendcounts, displs, sendtype),
                   UniformSide{recvbuf, recvcount, recvtype}, root, *comm, request);
}

int Scatterv_init(Call& call, const void* sendbuf, CountArray sendcounts, CountArray displs,
                  MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                  int root, Communicator* comm, MPI_Info /*info*/, MPI_Request* request)
{
    return scatter(call, listed(sendbuf, sendcounts, displs, sendtype),
                   UniformSide{recvbuf, recvcount, recvtype}, root, *comm,
                   Completion::on_start(request));
}

int Allgather(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm)
{
    return allgather(call, Collective::allgather, UniformSide{sendbuf, sendcount, sendtype},
                     UniformSide{recvbuf, recvcount, recvtype}, *comm, nullptr);
}

int Iallgather(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm,
               MPI_Request* request)
{
    return allgather(call, Collective::allgather, UniformSide{sendbuf, sendcount, sendtype},
                     UniformSide{recvbuf, recvcount, recvtype}, *comm, request);
}

int Allgather_init(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                   void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm,
                   MPI_Info /*info*/, MPI_Request* request)
{
    return allgather(call, Collective::allgather, UniformSide{sendbuf, sendcount, sendtype},
                     UniformSide{recvbuf, recvcount, recvtype}, *comm,
                     Completion::on_start(request));
}

int Allgatherv(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
               void* recvbuf, CountArray recvcounts, CountArray displs, MPI_Datatype recvtype,
               Communicator* comm)
{
    return allgather(call, Collective::allgatherv, UniformSide{sendbuf, sendcount, sendtype},
                     listed(recvbuf, recvcounts, displs, recvtype), *comm, nullptr);
}

int Iallgatherv(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                void* recvbuf, CountArray recvcounts, CountArray displs, MPI_Datatype recvtype,
                Communicator* comm, MPI_Request* request)
{
    return allgather(call, Collective::allgatherv, UniformSide{sendbuf, sendcount, sendtype},
                     listed(recvbuf, recvcounts, displs, recvtype), *comm, request);
}

int Allgatherv_init(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                    void* recvbuf, CountArray recvcounts, CountArray displs, MPI_Datatype recvtype,
                    Communicator* comm, MPI_Info /*info*/, MPI_Request* request)
{
    return allgather(call, Collective::allgatherv, UniformSide{sendbuf, sendcount, sendtype},
                     listed(recvbuf, recvcounts, displs, recvtype), *comm,
                     Completion::on_start(request));
}

}  // namespace call
}  // namespace headway::abi
