// SPDX-License-Identifier: Apache-2.0
#include "platform/module.hpp"

#include <dlfcn.h>

namespace headway::platform {

namespace {

/// An address of this library.
constexpr char landmark = 0;

std::string own_folder()
{
    Dl_info found{};
    if (::dladdr(&landmark, &found) == 0 || found.dli_fname == nullptr) {
        return {};
    }
    const std::string path(found.dli_fname);
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

}  // namespace

base::Result<Module> Module::open(const std::string& file_name)
{
    // It stays: threads and exit handlers of what it links may outlive us.
    void* const handle =
        ::dlopen((own_folder() + file_name).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) {
        const char* const text = ::dlerror();
        return base::Failure{text != nullptr ? text : "the loader does not say why"};
    }
    return Module(handle);
}

void* Module::find(const char* symbol) const noexcept
{
    return ::dlsym(handle_, symbol);
}

}  // namespace headway::platform
