// SPDX-License-Identifier: Apache-2.0
// Stands before src/object/ on the include path of entries_test.py: what the abi layer asks of it.
#pragma once

namespace headway::object {

/// A group as its rank sees it.
class Group {
  public:
    explicit Group(int size) noexcept : size_(size) {}

    int size() const noexcept { return size_; }

  private:
    int size_;
};

}  // namespace headway::object
