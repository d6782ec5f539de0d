// SPDX-License-Identifier: Apache-2.0
// Graphs of which each rank knows its own neighbours (MPI-5.0 sections 8.5.4 and 8.5.5).
#include <algorithm>
#include <memory>
#include <numeric>

#include "abi/any_time.hpp"
#include "abi/call_order.hpp"
#include "abi/reordered.hpp"
#include "abi/tag_spreading.hpp"
#include "abi/topology_calls.hpp"
#include "abi_calls.hpp"
#include "object/agreement.hpp"
#include "object/collective.hpp"

namespace headway::abi {
namespace {

using object::AdjacentGraph;
using object::Communicator;
using object::Topology;

int check_neighbors(Call& call, const Communicator& comm, const char* name, const int ranks[],
                    int count)
{
    if (count < 0) {
        return call.fail(MPI_ERR_ARG, "%d neighbours (argument %s) are less than none", count,
                         name);
    }
    for (const int rank : list(ranks, count)) {
        if (rank < 0 || rank >= comm.size()) {
            return call.fail(MPI_ERR_RANK,
                             "argument %s names rank %d, outside the communicator's %d ranks", name,
                             rank, comm.size());
        }
    }
    return MPI_SUCCESS;
}

int check_weights(Call& call, const char* name, const int weights[], int count)
{
    for (const int weight : list(weights, count)) {
        if (weight < 0) {
            return call.fail(MPI_ERR_ARG, "argument %s has the weight %d; none may be negative",
                             name, weight);
        }
    }
    return MPI_SUCCESS;
}

/// All of a communicator stay, each with its own neighbours. `member_at`: who takes which place;
/// empty where all keep their number.
int create_adjacent(Call& call, Communicator& comm, AdjacentGraph graph,
                    const std::vector<int>& member_at, MPI_Comm* made)
{
    auto topology = std::make_shared<const Topology>(std::move(graph));
    object::Rank& rank = rank_of(call);
    if (member_at.empty()) {
        const auto context = object::agree_for_all(rank, comm);
        return create_communicator(call, comm, context, comm.members(), made, std::move(topology));
    }
    std::vector<int> members(member_at.size());
    std::ranges::transform(member_at, members.begin(), [&](int member) {
        return comm.members()[static_cast<std::size_t>(member)];
    });
    const auto context =
        object::agree_for_part(rank, comm, object::Group(members, rank.world_rank));
    return create_communicator(call, comm, context, members, made, std::move(topology));
}

/// The place that this rank takes.
int place_of(const Communicator& comm, const std::vector<int>& member_at)
{
    return member_at.empty()
               ? comm.rank()
               : static_cast<int>(std::ranges::find(member_at, comm.rank()) - member_at.begin());
}

/// One edge of a distributed graph.
struct Edge {
    int source;
    int destination;
    int weight;
};

std::vector<Edge> own_edges(std::span<const int> sources, const int degrees[],
                            const int destinations[], const int* weights)
{
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        for (int k = 0; k < degrees[i]; ++k) {
            const std::size_t place = edges.size();
            edges.push_back(
                {sources[i], destinations[place], weights != nullptr ? weights[place] : 0});
        }
    }
    return edges;
}

/// What a rank tells all others of what it was given.
struct EdgeOffer {
    std::uint64_t count;
    int is_weighted;
};

/// The own neighbours among all edges, whose order is the same on all ranks.
AdjacentGraph adjacent_to(int rank, const std::vector<Edge>& edges, bool is_weighted)
{
    AdjacentGraph graph;
    graph.is_weighted = is_weighted;
    for (const Edge& edge : edges) {
        if (edge.destination == rank) {
            graph.sources.push_back(edge.source);
            graph.source_weights.push_back(edge.weight);
        }
        if (edge.source == rank) {
            graph.destinations.push_back(edge.destination);
            graph.destination_weights.push_back(edge.weight);
        }
    }
    return graph;
}

/// Who takes which place of a graph with these edges; empty where all keep their number.
std::vector<int> find_places_of(Call& call, const Communicator& comm,
                                const std::vector<Edge>& edges, bool has_weights,
                                const std::vector<object::Site>& sites)
{
    if (sites.empty()) {
        return {};
    }
    std::vector<object::PlaceEdge> between(edges.size());
    std::ranges::transform(edges, between.begin(), [&](const Edge& edge) {
        return object::PlaceEdge{edge.source, edge.destination, has_weights ? edge.weight : 1};
    });
    return find_places(call, comm, between, sites);
}

int create_from_edges(Call& call, Communicator& comm, const std::vector<Edge>& own,
                      bool is_weighted, bool may_reorder, MPI_Comm* made)
{
    object::Rank& rank = rank_of(call);
    const EdgeOffer offer{own.size(), is_weighted ? 1 : 0};
    std::vector<EdgeOffer> offers(static_cast<std::size_t>(comm.size()));
    if (!object::allgather_bytes(rank, comm, &offer, offers.data(), sizeof offer)) {
        return fail_for_memory(call);
    }
    std::vector<std::uint64_t> sizes(offers.size());
    std::ranges::transform(offers, sizes.begin(),
                           [](const EdgeOffer& each) { return each.count * sizeof(Edge); });
    std::vector<Edge> all(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) /
                          sizeof(Edge));
    if (!object::allgather_lists(rank, comm, own.data(), all.data(), sizes)) {
        return fail_for_memory(call);
    }
    if (std::ranges::any_of(offers, [&](const EdgeOffer& each) {
            return each.count != 0 && each.is_weighted != offer.is_weighted && offer.count != 0;
        })) {
        return call.fail(MPI_ERR_ARG,
                         "some ranks give weights and others MPI_UNWEIGHTED; let all do the same");
    }
    const bool has_weights =
        std::ranges::any_of(offers, [](const EdgeOffer& each) { return each.is_weighted != 0; });
    std::vector<int> member_at;
    if (may_reorder) {
        const auto sites = find_sites(call, comm, comm.size());
        if (!sites) {
            return fail_for_memory(call);
        }
        member_at = find_places_of(call, comm, all, has_weights, *sites);
    }
    const int place = place_of(comm, member_at);
    return create_adjacent(call, comm, adjacent_to(place, all, has_weights), member_at, made);
}

/// What ranks tell each other of their neighbours: numbers of sources and destinations, whether
/// there are weights, then the lists.
std::vector<int> packed(const AdjacentGraph& graph)
{
    std::vector<int> all{static_cast<int>(graph.sources.size()),
                         static_cast<int>(graph.destinations.size()), graph.is_weighted ? 1 : 0};
    for (const auto* const part :
         {&graph.sources, &graph.destinations, &graph.source_weights, &graph.destination_weights}) {
        all.insert(all.end(), part->begin(), part->end());
    }
    return all;
}

AdjacentGraph unpacked(std::span<const int> all)
{
    AdjacentGraph graph;
    const auto sources = static_cast<std::size_t>(all[0]);
    const auto destinations = static_cast<std::size_t>(all[1]);
    graph.is_weighted = all[2] != 0;
    all = all.subspan(3);
    const auto take = [&](std::vector<int>& part, std::size_t count) {
        part.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
        all = all.subspan(count);
    };
    take(graph.sources, sources);
    take(graph.destinations, destinations);
    if (graph.is_weighted) {
        take(graph.source_weights, sources);
        take(graph.destination_weights, destinations);
    }
    return graph;
}

/// Ranks may change their number, and then take the neighbours which the rank of their new number
/// gave.
int create_reordered(Call& call, Communicator& comm, const AdjacentGraph& graph,
                     const std::vector<object::Site>& sites, MPI_Comm* made)
{
    object::Rank& rank = rank_of(call);
    const std::vector<int> own = packed(graph);
    std::uint64_t own_bytes = own.size() * sizeof(int);
    std::vector<std::uint64_t> bytes(static_cast<std::size_t>(comm.size()));
    if (!object::allgather_bytes(rank, comm, &own_bytes, bytes.data(), sizeof own_bytes)) {
        return fail_for_memory(call);
    }
    std::vector<int> all(std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}) /
                         sizeof(int));
    if (!object::allgather_lists(rank, comm, own.data(), all.data(), bytes)) {
        return fail_for_memory(call);
    }
    std::vector<AdjacentGraph> graphs;
    std::vector<Edge> edges;
    bool has_weights = true;
    for (std::size_t at = 0; const std::uint64_t each : bytes) {
        graphs.push_back(unpacked(std::span<const int>(all).subspan(at, each / sizeof(int))));
        at += each / sizeof(int);
        const AdjacentGraph& its = graphs.back();
        has_weights = has_weights && its.is_weighted;
        for (std::size_t i = 0; i < its.destinations.size(); ++i) {
            edges.push_back({static_cast<int>(graphs.size()) - 1, its.destinations[i],
                             its.is_weighted ? its.destination_weights[i] : 1});
        }
    }
    const std::vector<int> member_at = find_places_of(call, comm, edges, has_weights, sites);
    const auto place = static_cast<std::size_t>(place_of(comm, member_at));
    return create_adjacent(call, comm, std::move(graphs[place]), member_at, made);
}

/// Each member gives its own neighbours.
int create_given(Call& call, Communicator& comm, AdjacentGraph graph, bool may_reorder,
                 MPI_Comm* made)
{
    if (may_reorder) {
        const auto sites = find_sites(call, comm, comm.size());
        if (!sites) {
            return fail_for_memory(call);
        }
        if (!sites->empty()) {
            return create_reordered(call, comm, graph, *sites, made);
        }
    }
    return create_adjacent(call, comm, std::move(graph), {}, made);
}

}  // namespace

namespace call {

int Dist_graph_create_adjacent(Call& call, Communicator* comm_old, int indegree,
                               const int sources[], const int* sourceweights, int outdegree,
                               const int destinations[], const int* destweights, MPI_Info info,
                               int reorder, MPI_Comm* comm_dist_graph)
{
    const bool is_weighted = sourceweights != MPI_UNWEIGHTED && destweights != MPI_UNWEIGHTED;
    int error = check_intra(call, *comm_old);
    if (error == MPI_SUCCESS) {
        error = check_neighbors(call, *comm_old, "sources", sources, indegree);
    }
    if (error == MPI_SUCCESS) {
        error = check_neighbors(call, *comm_old, "destinations", destinations, outdegree);
    }
    if (error == MPI_SUCCESS && is_weighted) {
        error = check_weights(call, "sourceweights", sourceweights, indegree);
    }
    if (error == MPI_SUCCESS && is_weighted) {
        error = check_weights(call, "destweights", destweights, outdegree);
    }
    if (error == MPI_SUCCESS) {
        error = check_order(call, *comm_old);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    AdjacentGraph graph;
    graph.sources = copy_of(sources, indegree);
    graph.destinations = copy_of(destinations, outdegree);
    graph.is_weighted = is_weighted;
    if (is_weighted) {
        graph.source_weights = copy_of(sourceweights, indegree);
        graph.destination_weights = copy_of(destweights, outdegree);
    }
    error = create_given(call, *comm_old, std::move(graph), reorder != 0, comm_dist_graph);
    return error == MPI_SUCCESS ? take_first_hints(call, *comm_dist_graph, hints_of(call, info))
                                : error;
}

int Dist_graph_create(Call& call, Communicator* comm_old, int n, const int sources[],
                      const int degrees[], const int destinations[], const int* weights,
                      MPI_Info info, int reorder, MPI_Comm* comm_dist_graph)
{
    int error = check_intra(call, *comm_old);
    if (error == MPI_SUCCESS) {
        error = check_neighbors(call, *comm_old, "sources", sources, n);
    }
    int count = 0;
    for (const int degree : list(degrees, error == MPI_SUCCESS ? n : 0)) {
        if (degree < 0 || __builtin_add_overflow(count, degree, &count)) {
            error = call.fail(MPI_ERR_ARG, "argument degrees has %d, or too many in all", degree);
            break;
        }
    }
    if (error == MPI_SUCCESS && count > 0 && (destinations == nullptr || weights == nullptr)) {
        error = call.fail(MPI_ERR_ARG,
                          "argument destinations or weights is a null pointer; give %d of them, "
                          "or MPI_UNWEIGHTED as weights",
                          count);
    }
    if (error == MPI_SUCCESS) {
        error = check_neighbors(call, *comm_old, "destinations", destinations, count);
    }
    const bool is_weighted = weights != MPI_UNWEIGHTED;
    if (error == MPI_SUCCESS && is_weighted) {
        error = check_weights(call, "weights", weights, count);
    }
    if (error == MPI_SUCCESS) {
        error = check_order(call, *comm_old);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    const std::vector<Edge> edges =
        own_edges(list(sources, n), degrees, destinations, is_weighted ? weights : nullptr);
    error = create_from_edges(call, *comm_old, edges, is_weighted, reorder != 0, comm_dist_graph);
    return error == MPI_SUCCESS ? take_first_hints(call, *comm_dist_graph, hints_of(call, info))
                                : error;
}

int Dist_graph_neighbors_count(Call& call, Communicator* comm, int* indegree, int* outdegree,
                               int* weighted)
{
    const auto* const graph = find_topology<AdjacentGraph>(call, *comm, "MPI_Dist_graph_create");
    if (graph == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    *indegree = static_cast<int>(graph->sources.size());
    *outdegree = static_cast<int>(graph->destinations.size());
    *weighted = graph->is_weighted ? 1 : 0;
    return MPI_SUCCESS;
}

int Dist_graph_neighbors(Call& call, Communicator* comm, int maxindegree, int sources[],
                         int* sourceweights, int maxoutdegree, int destinations[], int* destweights)
{
    const auto* const graph = find_topology<AdjacentGraph>(call, *comm, "MPI_Dist_graph_create");
    if (graph == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    hand_out(graph->sources, sources, maxindegree);
    hand_out(graph->destinations, destinations, maxoutdegree);
    if (graph->is_weighted && sourceweights != MPI_UNWEIGHTED) {
        hand_out(graph->source_weights, sourceweights, maxindegree);
    }
    if (graph->is_weighted && destweights != MPI_UNWEIGHTED) {
        hand_out(graph->destination_weights, destweights, maxoutdegree);
    }
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
