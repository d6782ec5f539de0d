// SPDX-License-Identifier: Apache-2.0
#include "boot/single.hpp"

#include <cstdio>
#include <map>

namespace headway::boot {
namespace {

class SingleBoot final : public Boot {
  public:
    std::string_view launcher() const noexcept override { return "none (singleton)"; }

    base::Result<std::vector<int>> node_map() override { return std::vector<int>{0}; }

    base::Outcome put(std::string_view key, std::string_view value) override
    {
        dictionary_.insert_or_assign(std::string(key), std::string(value));
        return base::Done{};
    }

    base::Outcome fence() override { return base::Done{}; }

    base::Result<std::string> get(std::string_view key) override
    {
        const auto entry = dictionary_.find(key);
        if (entry == dictionary_.end()) {
            return base::Failure{"nobody has put '" + std::string(key) + "'"};
        }
        return entry->second;
    }

    base::Outcome finalize() override { return base::Done{}; }

    void abort(int, std::string_view sentence) override
    {
        if (sentence.empty()) {
            return;
        }
        std::fprintf(stderr, "%.*s\n", static_cast<int>(sentence.size()), sentence.data());
        std::fflush(stderr);
    }

  private:
    std::map<std::string, std::string, std::less<>> dictionary_;
};

}  // namespace

std::unique_ptr<Boot> open_single()
{
    return std::make_unique<SingleBoot>();
}

}  // namespace headway::boot
