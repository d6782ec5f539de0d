// SPDX-License-Identifier: Apache-2.0
// Time zones of ranks. libc keeps one: what TZ said when it looked last, and the variables tzname,
// timezone and daylight, which conversions change. Each rank has that for itself.
#pragma once

#include <mutex>
#include <string>

namespace headway::launch {

/// Where a rank's variables lie.
struct ZoneVariables {
    char** names;        ///< two: tzname
    long* seconds_west;  ///< timezone
    int* has_summer;     ///< daylight
};

/// What libc would remember of a process. Read and written by InZone alone.
struct RankZone {
    std::string text;        ///< TZ when the rank looked last
    bool is_loaded = false;  ///< it has looked
};

/// While it lives, libc's zone is the rank's and nobody else's. What libc then leaves in its
/// variables is the rank's at the end. Any thread; others wait.
class InZone {
  public:
    /// `text`: what TZ says now, null: it is not set. `looks`: whether libc would take it over
    /// here, which it does in any case at the rank's first look.
    InZone(RankZone& zone, const ZoneVariables& variables, const char* text, bool looks);
    ~InZone();
    InZone(const InZone&) = delete;
    InZone& operator=(const InZone&) = delete;

    /// libc's values before a process has looked.
    static void set_first_values(const ZoneVariables& variables) noexcept;

    /// Makes room in the process's environment: a thread that reads it then never meets it while it
    /// grows. From now on no fork comes between. Before there is a second thread.
    static void prepare();

  private:
    const std::lock_guard<std::mutex> lock_;
    const ZoneVariables variables_;
};

}  // namespace headway::launch
