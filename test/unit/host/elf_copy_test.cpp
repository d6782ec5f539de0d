// SPDX-License-Identifier: Apache-2.0
#include "elf_copy.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "compiled.hpp"
#include "file_bytes.hpp"

namespace headway::launch {
namespace {

constexpr const char* with_constructor =
    "int runs; int here(void){return 42;}\n"
    "__attribute__((constructor)) static void start(void){runs++;}\n"
    "__attribute__((destructor)) static void stop(void){runs--;}\n"
    "int main(void){return runs;}";

/// The copy, loaded; its memory file is kept open so that names do not repeat.
void* load(const std::vector<std::byte>& copy)
{
    const int file = make_memory_file("copy", copy);
    EXPECT_GE(file, 0);
    void* const handle =
        ::dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle, nullptr) << ::dlerror();
    return handle;
}

std::vector<std::byte> program_copy(const std::vector<std::byte>& bytes)
{
    const auto image = ElfImage::read(bytes);
    EXPECT_TRUE(image);
    CopyChoice choice;
    choice.is_program = true;
    auto copy = copy_image(image.value(), choice);
    EXPECT_TRUE(copy);
    return copy.value();
}

TEST(ElfCopy, AProgramIsLoadedSeveralTimesWithoutItsConstructors)
{
    const Workshop workshop;
    const auto bytes = workshop.compiled("gcc -rdynamic", with_constructor);
    const auto copy = program_copy(bytes);
    void* const first = load(copy);
    void* const second = load(copy);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    auto* const first_runs = static_cast<int*>(::dlsym(first, "runs"));
    auto* const second_runs = static_cast<int*>(::dlsym(second, "runs"));
    ASSERT_NE(first_runs, nullptr);
    EXPECT_NE(first_runs, second_runs);
    EXPECT_EQ(*first_runs, 0);
    const auto here = reinterpret_cast<int (*)()>(::dlsym(second, "here"));
    ASSERT_NE(here, nullptr);
    EXPECT_EQ(here(), 42);
    EXPECT_EQ(::dlclose(first), 0);
    EXPECT_EQ(::dlclose(second), 0);
}

TEST(ElfCopy, RemembersConstructorsAndDestructors)
{
    const Workshop workshop;
    const auto bytes = workshop.compiled("gcc", with_constructor);
    const auto before = ElfImage::read(bytes);
    ASSERT_TRUE(before);
    const LifeCalls calls = life_calls_of(before.value());
    EXPECT_NE(calls.init_array, 0U);
    EXPECT_GE(calls.init_bytes, 8U);
    EXPECT_NE(calls.fini_array, 0U);
    const auto copy = program_copy(bytes);
    const auto after = ElfImage::read(copy);
    ASSERT_TRUE(after);
    const LifeCalls none = life_calls_of(after.value());
    EXPECT_EQ(none.init, 0U);
    EXPECT_EQ(none.init_array, 0U);
    EXPECT_EQ(none.init_bytes, 0U);
    EXPECT_EQ(none.fini, 0U);
    EXPECT_EQ(none.fini_array, 0U);
    EXPECT_EQ(after.value().dynamic_value(DT_FLAGS_1).value_or(0) & DF_1_PIE, 0U);
}

TEST(ElfCopy, LibrariesGetOtherNamesWhereverTheyAreNamed)
{
    const Workshop workshop;
    const auto bytes = workshop.compiled("g++", "#include <iostream>\nint main(){std::cout << 1;}");
    const auto image = ElfImage::read(bytes);
    ASSERT_TRUE(image);
    const std::string name = "/proc/self/task/123456/fd/1234";
    CopyChoice choice;
    choice.is_program = true;
    choice.library_names = {{"libstdc++.so.6", name}};
    const auto copy = copy_image(image.value(), choice);
    ASSERT_TRUE(copy);
    const auto renamed = ElfImage::read(copy.value());
    ASSERT_TRUE(renamed);
    int found = 0;
    for (const ElfImage::LibraryName& each : renamed.value().library_names()) {
        EXPECT_NE(each.name, "libstdc++.so.6");
        found += each.name == name ? 1 : 0;
    }
    EXPECT_EQ(found, 2);  // NEEDED and its versions
    EXPECT_EQ(renamed.value().needed().size(), image.value().needed().size());
    // Nothing has moved.
    EXPECT_EQ(renamed.value().header().e_entry, image.value().header().e_entry);
    EXPECT_EQ(renamed.value().segments().size(), image.value().segments().size());
}

TEST(ElfCopy, NoSymbolIsUniqueInTheProcess)
{
    const Workshop workshop;
    const auto bytes =
        workshop.compiled("g++ -shared -fPIC -fgnu-unique",
                          "template <typename T> struct Holder { static int value; };\n"
                          "template <typename T> int Holder<T>::value = 3;\n"
                          "extern \"C\" int* place(){ return &Holder<int>::value; }");
    const auto is_unique = [](const ElfImage& image) {
        return std::any_of(image.symbols().begin(), image.symbols().end(),
                           [](const auto& each) { return each.binding() == STB_GNU_UNIQUE; });
    };
    const auto image = ElfImage::read(bytes);
    ASSERT_TRUE(image);
    ASSERT_TRUE(is_unique(image.value()));
    const auto copy = copy_image(image.value(), {});
    ASSERT_TRUE(copy);
    EXPECT_FALSE(is_unique(ElfImage::read(copy.value()).value()));
    using Place = int* (*)();
    const auto first = reinterpret_cast<Place>(::dlsym(load(copy.value()), "place"));
    const auto second = reinterpret_cast<Place>(::dlsym(load(copy.value()), "place"));
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    EXPECT_NE(first(), second());
    EXPECT_EQ(*second(), 3);
}

}  // namespace
}  // namespace headway::launch
