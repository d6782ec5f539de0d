// SPDX-License-Identifier: Apache-2.0
#include "program_report.hpp"

#include <map>
#include <set>

#include "libc_face.hpp"

namespace headway::launch {
namespace {

/// Functions that the program and its libraries ask others for.
std::set<std::string, std::less<>> functions_asked_for(const HostedProgram& program)
{
    std::set<std::string, std::less<>> names;
    for (const PrivateFile& file : program.files) {
        const auto image = ElfImage::read(file.bytes);
        if (!image) {
            continue;
        }
        for (const ElfImage::Symbol& each : image.value().symbols()) {
            if (!each.is_defined()) {
                names.emplace(each.name);
            }
        }
    }
    return names;
}

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& each : words) {
        text += (text.empty() ? "" : ", ") + each;
    }
    return text.empty() ? "none" : text;
}

}  // namespace

std::string refused_function(const HostedProgram& program)
{
    for (const std::string& each : functions_asked_for(program)) {
        const LibcFace* const face = find_libc_face(each);
        if (face != nullptr && face->treatment == FaceTreatment::refused) {
            return "calls " + each + ", which " + std::string(face->about) +
                   "; run it with --ranks process";
        }
    }
    return "";
}

std::string report_on(const HostedProgram& program)
{
    std::vector<std::string> own;
    for (const PrivateFile& each : program.files) {
        if (!each.name.empty()) {
            own.push_back(each.name);
        }
    }
    std::string text = program.path + " can run as several ranks of one process\n";
    text += "  thread-locals: " + std::to_string(program.facts.tls_bytes) + " of " +
            std::to_string(tls_reserve_bytes) + " bytes\n";
    text += "  libraries of its own in every rank: " + joined(own) + "\n";
    text += "  libraries that ranks share: " + joined(program.shared) + "\n";
    std::map<std::string_view, std::vector<std::string>> notes;
    for (const std::string& each : functions_asked_for(program)) {
        const LibcFace* const face = find_libc_face(each);
        if (face != nullptr && face->treatment == FaceTreatment::shared) {
            notes[face->about].push_back(each);
        }
    }
    for (const auto& [about, functions] : notes) {
        text += "  shared: " + std::string(about) + " (" + joined(functions) + ")\n";
    }
    return text;
}

}  // namespace headway::launch
