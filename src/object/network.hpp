// SPDX-License-Identifier: Apache-2.0
//
// How the processes of a job on several nodes find each other: by words of the launcher's
// dictionary. Addresses are looked up when a rank is first met.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "boot/boot.hpp"
#include "boot/placement.hpp"
#include "config/knobs.hpp"
#include "platform/host_links.hpp"
#include "transport/network.hpp"

namespace headway::engine {
class Node;
}

namespace headway::object {

/// A process's way to the ranks of other nodes, and what it has to do with the launcher.
class NetworkDoor {
  public:
    /// Opens the module beside the library and tells the launcher where this process can be
    /// reached, before a fence. Failure: the sentence with the cure.
    static base::Result<std::unique_ptr<NetworkDoor>> open(boot::Boot& boot,
                                                           const config::Knobs& knobs,
                                                           const boot::Placement& placement,
                                                           int ranks_a_process);
    /// After the fence: from now on frames can be sent and received.
    base::Outcome join();

    transport::Network& network() noexcept { return *network_; }

    /// Gives the node what it needs of this door. Before its ranks communicate.
    void open_for(engine::Node& node);
    /// Before the job ends in good order: other processes may end before this one does.
    static void stop_watching(engine::Node& node);

  private:
    struct Entry;

    NetworkDoor(boot::Boot& boot, const boot::Placement& placement, int ranks_a_process)
        : boot_(boot), placement_(placement), ranks_a_process_(ranks_a_process)
    {
    }

    base::Result<std::string> open_links(std::uint64_t timeout_s);
    int place_of(std::uint32_t rank) const noexcept
    {
        return static_cast<int>(rank) / ranks_a_process_;
    }
    /// Of a place: "rank 4", "ranks 4 to 7".
    std::string ranks_at(int first, int end) const;
    base::Result<Entry> find_entry(int place);
    void introduce(std::uint32_t rank);
    base::Outcome look_up(std::uint32_t rank);
    base::Outcome watch_host_of(int place);

    boot::Boot& boot_;
    const boot::Placement& placement_;
    const int ranks_a_process_;
    std::mutex lock_;                        ///< of what follows, once ranks communicate
    std::optional<std::vector<int>> order_;  ///< of boot::order_by_place(), once it was needed
    std::unique_ptr<transport::Network> network_;
    std::unique_ptr<platform::HostLinks> links_;
    std::vector<bool> is_watched_;  ///< by number of the node
};

}  // namespace headway::object
