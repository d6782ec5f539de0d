// SPDX-License-Identifier: Apache-2.0
// Any bytes given as a program are refused with a sentence, or read and copied; nothing in them is
// followed out of them. A copy can be read again and asks for the libraries under their new names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "elf_copy.hpp"
#include "host_plan.hpp"
#include "program_facts.hpp"

namespace {

void demand(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace headway::launch;
    const auto bytes = std::as_bytes(std::span<const std::uint8_t>(data, size));
    (void)read_plan(bytes);
    const auto image = ElfImage::read(bytes);
    if (!image) {
        demand(!image.sentence().empty());
        return 0;
    }
    const auto judged = judge(facts_of(image.value()));
    demand(judged || !judged.sentence().empty());
    CopyChoice choice;
    choice.is_program = true;
    for (const std::string_view each : image.value().needed()) {
        choice.library_names.insert_or_assign(std::string(each), "/proc/self/task/1/fd/2");
    }
    const auto copy = copy_image(image.value(), choice);
    demand(copy ? copy.value().size() >= size : !copy.sentence().empty());
    return 0;
}
