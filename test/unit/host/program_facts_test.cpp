// SPDX-License-Identifier: Apache-2.0
#include "program_facts.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "compiled.hpp"
#include "elf_copy.hpp"

namespace headway::launch {
namespace {

ProgramFacts facts(const std::vector<std::byte>& bytes)
{
    const auto image = ElfImage::read(bytes);
    EXPECT_TRUE(image);
    return image ? facts_of(image.value()) : ProgramFacts{};
}

/// Why a program is not hosted; empty: it is.
std::string refusal(const std::string& compiler, const std::string& source)
{
    const Workshop workshop;
    const auto judged = judge(facts(workshop.compiled(compiler, source)));
    return judged ? "" : judged.sentence();
}

TEST(ProgramFacts, AnOrdinaryProgramIsHosted)
{
    const Workshop workshop;
    const auto found = facts(workshop.compiled("gcc",
                                               "#include <stdio.h>\n"
                                               "int main(void){puts(\"\");return 0;}"));
    EXPECT_FALSE(found.has_fixed_address);
    EXPECT_FALSE(found.is_static);
    EXPECT_EQ(found.tls_bytes, 0U);
    EXPECT_NE(std::find(found.needed.begin(), found.needed.end(), "libc.so.6"), found.needed.end());
    EXPECT_TRUE(judge(found));
}

TEST(ProgramFacts, CountsThreadLocalsUpToTheThreadPointer)
{
    const Workshop workshop;
    const auto found =
        facts(workshop.compiled("gcc",
                                "__thread int a = 1; __thread char b[100]; __thread long c;\n"
                                "int main(void){return a + b[0] + (int)c;}"));
    EXPECT_GE(found.tls_bytes, 112U);
    EXPECT_LT(found.tls_bytes, 256U);
    EXPECT_EQ(found.tls_bytes % found.tls_alignment, 0U);
    EXPECT_TRUE(judge(found));
}

TEST(ProgramFacts, KnowsWhoseVariablesLieInTheProgram)
{
    const Workshop workshop;
    const auto found =
        facts(workshop.compiled("g++",
                                "#include <cstdio>\n#include <iostream>\n"
                                "int main(){std::fputs(\"x\", stdout); std::cout << 1;}"));
    const auto find = [&found](const std::string& name) {
        const auto each = std::find_if(found.copied.begin(), found.copied.end(),
                                       [&name](const auto& one) { return one.name == name; });
        EXPECT_NE(each, found.copied.end()) << name;
        return each == found.copied.end() ? CopiedSymbol{} : *each;
    };
    EXPECT_EQ(find("stdout").library, "libc.so.6");
    EXPECT_FALSE(find("stdout").is_of_private_library());
    EXPECT_EQ(find("_ZSt4cout").library, "libstdc++.so.6");
    EXPECT_TRUE(find("_ZSt4cout").is_of_private_library());
    EXPECT_GT(find("_ZSt4cout").bytes, 8U);
    EXPECT_TRUE(judge(found));
}

TEST(ProgramFacts, RefusesWithTheCure)
{
    const std::string empty = "int main(void){return 0;}";
    EXPECT_NE(refusal("gcc -static", empty).find("link it without -static"), std::string::npos);
    EXPECT_NE(refusal("gcc -no-pie -fno-pie", empty).find("-fPIE -pie"), std::string::npos);
    EXPECT_NE(refusal("gcc", "__thread char big[1 << 20]; int main(void){return big[5];}")
                  .find("bytes of thread-locals"),
              std::string::npos);
    EXPECT_NE(refusal("gcc",
                      "__thread char page[64] __attribute__((aligned(4096)));\n"
                      "int main(void){return page[5];}")
                  .find("aligns thread-locals to 4096"),
              std::string::npos);
    EXPECT_NE(
        refusal("gcc -rdynamic", "__thread int seen; int main(void){return seen;}").find("'seen'"),
        std::string::npos);
    EXPECT_NE(refusal("gcc",
                      "#include <stdlib.h>\n"
                      "void* malloc(size_t n){return (void*)n;}\n" +
                          empty)
                  .find("defines malloc"),
              std::string::npos);
    EXPECT_NE(refusal("g++",
                      "#include <cstdlib>\n#include <new>\n"
                      "void* operator new(std::size_t n){return std::malloc(n);}\n"
                      "int main(){delete new int;}")
                  .find("defines _Znwm"),
              std::string::npos);
    EXPECT_NE(refusal("gcc",
                      "#define _GNU_SOURCE\n#include <regex.h>\n"
                      "int main(void){return (int)re_syntax_options;}")
                  .find("re_syntax_options' of libc.so.6"),
              std::string::npos);
    EXPECT_NE(refusal("gcc -fsanitize=address", empty).find("libasan"), std::string::npos);
}

TEST(ProgramFacts, FindsProgramsAsExecvpDoes)
{
    const Workshop workshop;
    const std::string path = workshop.compile("gcc", "int main(void){return 0;}");
    const std::string search = "/nowhere:" + workshop.folder().string();
    const auto found = read_program("program", search);
    ASSERT_TRUE(found);
    EXPECT_EQ(found.value().path, path);
    EXPECT_TRUE(read_program(path, ""));

    const auto missing = read_program("no-such-program", search);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.sentence().find("in no directory of PATH"), std::string::npos);

    ASSERT_EQ(::chmod(path.c_str(), 04755), 0);
    const auto other_user = read_program(path, "");
    ASSERT_FALSE(other_user);
    EXPECT_NE(other_user.sentence().find("setuid"), std::string::npos);

    const std::string script = (workshop.folder() / "script").string();
    std::ofstream(script) << "#!/bin/sh\n";
    ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
    const auto is_script = read_program(script, "");
    ASSERT_FALSE(is_script);
    EXPECT_NE(is_script.sentence().find("is a script"), std::string::npos);
}

TEST(ProgramFacts, SharedLibrariesAreKnownByTheirStems)
{
    EXPECT_TRUE(is_shared_library("libc.so.6"));
    EXPECT_TRUE(is_shared_library("/lib64/ld-linux-x86-64.so.2"));
    EXPECT_TRUE(is_shared_library("libmpi_abi.so.1"));
    EXPECT_TRUE(is_shared_library("libgcc_s.so.1"));
    EXPECT_FALSE(is_shared_library("libstdc++.so.6"));
    EXPECT_FALSE(is_shared_library("libcrypt.so.1"));
    EXPECT_FALSE(is_shared_library("libgomp.so.1"));
}

/// Everything that is done with a file before it is loaded.
void use_all(const std::vector<std::byte>& bytes)
{
    const auto image = ElfImage::read(bytes);
    if (!image) {
        EXPECT_FALSE(image.sentence().empty());
        return;
    }
    (void)judge(facts_of(image.value()));
    (void)life_calls_of(image.value());
    CopyChoice choice;
    choice.is_program = true;
    choice.soname = "/proc/self/task/1/fd/2";
    choice.library_names = {{"libc.so.6", "/proc/self/task/1/fd/3"}};
    (void)copy_image(image.value(), choice);
}

TEST(ProgramFacts, DamagedFilesAreRefusedOrReadNeverFollowed)
{
    const Workshop workshop;
    const auto whole = workshop.compiled(
        "g++", "#include <iostream>\nthread_local int a = 1; int main(){std::cout << a;}");
    ASSERT_GT(whole.size(), 4096U);
    for (std::size_t size = 0; size < 512; ++size) {
        use_all({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    }
    std::mt19937 random(1);
    // What is followed stands in the first pages and in the dynamic section.
    const auto image = ElfImage::read(whole);
    ASSERT_TRUE(image);
    const std::uint64_t dynamic = image.value().segment(PT_DYNAMIC)->p_offset;
    for (int round = 0; round < 20000; ++round) {
        std::vector<std::byte> damaged = whole;
        for (auto edits = 1 + random() % 8; edits > 0; --edits) {
            const std::uint64_t start = random() % 2 == 0 ? 0 : dynamic;
            const std::uint64_t place = start + random() % (start == 0 ? 2048 : 512);
            if (place < damaged.size()) {
                constexpr unsigned char telling[] = {0x00, 0x7f, 0x80, 0xff};
                damaged[place] = static_cast<std::byte>(random() % 2 == 0 ? telling[random() % 4]
                                                                          : random() % 256);
            }
        }
        use_all(damaged);
    }
}

}  // namespace
}  // namespace headway::launch
