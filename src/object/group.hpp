// SPDX-License-Identifier: Apache-2.0
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
