// SPDX-License-Identifier: Apache-2.0
// Functions that mean standard input or output without saying so: those of the rank. All others
// are given a stream, which programs have found in the rank's own stdin, stdout and stderr.
#include <cstdarg>
#include <cstdio>
#include <cwchar>

#include "hosted_rank.hpp"
#include "libc_face.hpp"
#include "libc_functions.hpp"

using headway::launch::asking_rank;
using headway::launch::HostedRank;
using headway::launch::libc_functions;

namespace {

std::FILE* output_of(HostedRank* rank)
{
    return rank != nullptr ? rank->output() : stdout;
}

std::FILE* input_of(HostedRank* rank)
{
    return rank != nullptr ? rank->input() : stdin;
}

}  // namespace

HEADWAY_FACE int fclose(std::FILE* stream)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank != nullptr && rank->is_standard(stream)) {
        return stream == rank->input() ? 0 : std::fflush(stream);
    }
    return libc_functions().fclose(stream);
}

HEADWAY_FACE int vprintf(const char* format, std::va_list arguments)
{
    return std::vfprintf(output_of(asking_rank(__builtin_return_address(0))), format, arguments);
}

HEADWAY_FACE int printf(const char* format, ...)
{
    std::FILE* const output = output_of(asking_rank(__builtin_return_address(0)));
    std::va_list arguments;
    va_start(arguments, format);
    const int count = std::vfprintf(output, format, arguments);
    va_end(arguments);
    return count;
}

HEADWAY_FACE int __vprintf_chk(int flag, const char* format, std::va_list arguments)
{
    return libc_functions().vfprintf_chk(output_of(asking_rank(__builtin_return_address(0))), flag,
                                         format, arguments);
}

HEADWAY_FACE int __printf_chk(int flag, const char* format, ...)
{
    std::FILE* const output = output_of(asking_rank(__builtin_return_address(0)));
    std::va_list arguments;
    va_start(arguments, format);
    const int count = libc_functions().vfprintf_chk(output, flag, format, arguments);
    va_end(arguments);
    return count;
}

HEADWAY_FACE int puts(const char* text)
{
    std::FILE* const output = output_of(asking_rank(__builtin_return_address(0)));
    ::flockfile(output);
    const bool is_written = std::fputs(text, output) >= 0 && std::fputc('\n', output) != EOF;
    ::funlockfile(output);
    return is_written ? 1 : EOF;
}

HEADWAY_FACE int putchar(int character)
{
    return std::fputc(character, output_of(asking_rank(__builtin_return_address(0))));
}

HEADWAY_FACE int putchar_unlocked(int character)
{
    return ::fputc_unlocked(character, output_of(asking_rank(__builtin_return_address(0))));
}

HEADWAY_FACE int vwprintf(const wchar_t* format, std::va_list arguments)
{
    return std::vfwprintf(output_of(asking_rank(__builtin_return_address(0))), format, arguments);
}

HEADWAY_FACE int wprintf(const wchar_t* format, ...)
{
    std::FILE* const output = output_of(asking_rank(__builtin_return_address(0)));
    std::va_list arguments;
    va_start(arguments, format);
    const int count = std::vfwprintf(output, format, arguments);
    va_end(arguments);
    return count;
}

HEADWAY_FACE std::wint_t putwchar(wchar_t character)
{
    return std::fputwc(character, output_of(asking_rank(__builtin_return_address(0))));
}

HEADWAY_FACE int getchar()
{
    return std::fgetc(input_of(asking_rank(__builtin_return_address(0))));
}

HEADWAY_FACE int getchar_unlocked()
{
    return ::fgetc_unlocked(input_of(asking_rank(__builtin_return_address(0))));
}

HEADWAY_FACE int __isoc99_vscanf(const char* format, std::va_list arguments)
{
    return std::vfscanf(input_of(asking_rank(__builtin_return_address(0))), format, arguments);
}

HEADWAY_FACE int __isoc99_scanf(const char* format, ...)
{
    std::FILE* const input = input_of(asking_rank(__builtin_return_address(0)));
    std::va_list arguments;
    va_start(arguments, format);
    const int count = std::vfscanf(input, format, arguments);
    va_end(arguments);
    return count;
}
