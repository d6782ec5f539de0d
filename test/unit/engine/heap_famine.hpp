// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "memory/allocator.hpp"
#include "memory/size_class.hpp"

namespace headway::engine {

/// Holds all of the heap; gives back single blocks of every size.
class HeapFamine {
  public:
    explicit HeapFamine(memory::Allocator& allocator) : allocator_(allocator)
    {
        for (int some = 0; some < 4; ++some) {
            for (std::uint32_t each = 0; each < memory::size_class_count; ++each) {
                hold(memory::size_class_bytes(each));
            }
        }
        for (std::size_t bytes = std::size_t{64} << 20; bytes > memory::unit_bytes; bytes /= 2) {
            while (hold(bytes)) {
            }
        }
        for (std::uint32_t each = memory::size_class_count; each-- > 0;) {
            while (hold(memory::size_class_bytes(each))) {
            }
        }
    }
    ~HeapFamine()
    {
        for (auto& [bytes, blocks] : held_) {
            while (!blocks.empty()) {
                give_one(blocks);
            }
        }
    }
    HeapFamine(const HeapFamine&) = delete;
    HeapFamine& operator=(const HeapFamine&) = delete;

    void give_one_of_each_size()
    {
        for (auto& [bytes, blocks] : held_) {
            if (bytes <= memory::slab_block_bytes_max) {
                give_one(blocks);
            }
        }
    }

  private:
    bool hold(std::size_t bytes)
    {
        void* block = allocator_.allocate(bytes);
        if (block != nullptr) {
            held_[allocator_.usable_bytes(block)].push_back(block);
        }
        return block != nullptr;
    }
    void give_one(std::vector<void*>& blocks)
    {
        allocator_.free(blocks.back());
        blocks.pop_back();
    }

    memory::Allocator& allocator_;
    std::map<std::size_t, std::vector<void*>> held_;
};

}  // namespace headway::engine
