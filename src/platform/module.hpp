// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.hpp"

namespace headway::platform {

/// A shared library that lies beside the one this code is part of; it stays open.
class Module {
  public:
    /// Failure: what the loader says.
    static base::Result<Module> open(const std::string& file_name);
    /// Null: it does not export that.
    void* find(const char* symbol) const noexcept;

  private:
    explicit Module(void* handle) noexcept : handle_(handle) {}
    void* handle_;
};

}  // namespace headway::platform
