// SPDX-License-Identifier: Apache-2.0
#include "mpi_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <filesystem>
#include <system_error>

namespace headway::launch {
namespace {

struct Search {
    const void* inside;
    const char* begin;
    const char* end;
};

int find_object(dl_phdr_info* object, std::size_t, void* argument)
{
    auto& search = *static_cast<Search*>(argument);
    const char* begin = nullptr;
    const char* end = nullptr;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& segment = object->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            const char* first = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
            begin = begin == nullptr || first < begin ? first : begin;
            end = first + segment.p_memsz > end ? first + segment.p_memsz : end;
        }
    }
    if (search.inside < begin || search.inside >= end) {
        return 0;
    }
    search.begin = begin;
    search.end = end;
    return 1;
}

}  // namespace

base::Result<MpiLibrary> MpiLibrary::load()
{
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::string path = (self.parent_path().parent_path() / "lib/libmpi_abi.so.1").string();
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return base::Failure{std::string("its library cannot be loaded: ") + ::dlerror() +
                             "; install Headway again"};
    }
    MpiLibrary library;
    library.table_ =
        static_cast<const struct headway_interface_1*>(::dlsym(handle, "headway_interface_1"));
    if (library.table_ == nullptr ||
        library.table_->size_bytes < sizeof(struct headway_interface_1)) {
        return base::Failure{"its library (" + path +
                             ") is older than its host program; install Headway again"};
    }
    Search search{library.table_, nullptr, nullptr};
    ::dl_iterate_phdr(&find_object, &search);
    library.begin_ = search.begin;
    library.end_ = search.end;
    return library;
}

}  // namespace headway::launch
