// SPDX-License-Identifier: Apache-2.0
#include "boot/pmix_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

namespace headway::boot::pmix {
namespace {

constexpr const char* file_name = "libpmix.so.2";
constexpr int ancestors_max = 8;  ///< shells and wrappers between a launcher and this process

/// The path of libpmix in the memory of a process; empty: it has none, or hides it.
std::string library_of(int process_id)
{
    std::ifstream maps("/proc/" + std::to_string(process_id) + "/maps");
    std::string line;
    while (std::getline(maps, line)) {
        const std::size_t slash = line.find('/');
        if (slash != std::string::npos && line.find("/libpmix.so.", slash) != std::string::npos) {
            return line.substr(slash);
        }
    }
    return {};
}

/// 0: there is none, or it is hidden.
int parent_of(int process_id)
{
    std::ifstream status("/proc/" + std::to_string(process_id) + "/status");
    std::string word;
    while (status >> word) {
        int parent = 0;
        if (word == "PPid:" && status >> parent) {
            return parent;
        }
    }
    return 0;
}

std::string library_of_launcher()
{
    int ancestor = ::getppid();
    for (int step = 0; step < ancestors_max && ancestor > 0; ++step) {
        if (std::string path = library_of(ancestor); !path.empty()) {
            return path;
        }
        ancestor = parent_of(ancestor);
    }
    return {};
}

template <typename Function>
bool find(void* library, const char* name, Function& function)
{
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

/// The name of a function that is missing; null: all are there.
const char* find_all(void* library, Functions& functions)
{
    return !find(library, "PMIx_Init", functions.init)                   ? "PMIx_Init"
           : !find(library, "PMIx_Finalize", functions.finalize)         ? "PMIx_Finalize"
           : !find(library, "PMIx_Put", functions.put)                   ? "PMIx_Put"
           : !find(library, "PMIx_Commit", functions.commit)             ? "PMIx_Commit"
           : !find(library, "PMIx_Fence", functions.fence)               ? "PMIx_Fence"
           : !find(library, "PMIx_Get", functions.get)                   ? "PMIx_Get"
           : !find(library, "PMIx_Abort", functions.abort)               ? "PMIx_Abort"
           : !find(library, "PMIx_Error_string", functions.error_string) ? "PMIx_Error_string"
                                                                         : nullptr;
}

}  // namespace

std::vector<std::string> library_paths(const std::string& prefix)
{
    std::vector<std::string> paths;
    if (!prefix.empty()) {
        paths.push_back(prefix + "/lib/" + file_name);
        paths.push_back(prefix + "/lib/openmpi/" + file_name);
    }
    if (std::string path = library_of_launcher(); !path.empty()) {
        paths.push_back(std::move(path));
    }
    paths.emplace_back(file_name);
    return paths;
}

base::Result<Functions> open_library(const std::vector<std::string>& paths)
{
    std::string tried;
    for (const std::string& path : paths) {
        // Its thread outlives us, so it is never closed.
        void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library == nullptr) {
            const char* const why = ::dlerror();
            tried += (tried.empty() ? "" : "; ") + (why == nullptr ? path : std::string(why));
            continue;
        }
        Functions functions;
        if (const char* const missing = find_all(library, functions); missing != nullptr) {
            return base::Failure{"the launcher speaks PMIx, but " + path + " has no function " +
                                 missing + "; install PMIx 4 or later (Debian: libpmix2)"};
        }
        return functions;
    }
    return base::Failure{
        "the launcher speaks PMIx, but its library cannot be opened (" + tried +
        "); install PMIx (Debian: libpmix2) or add the folder of libpmix.so.2 to LD_LIBRARY_PATH, "
        "or start the job with Headway's mpiexec or mpiexec.hydra"};
}

}  // namespace headway::boot::pmix
