// SPDX-License-Identifier: Apache-2.0
// getopt for one rank: libc's keeps its place in variables that all ranks would share.
#pragma once

#include <getopt.h>

#include <string_view>

namespace headway::launch {

/// The variables that a program reads and sets beside getopt.
struct OptionVariables {
    char*& optarg;
    int& optind;
    int& opterr;
    int& optopt;
};

/// As getopt_long_only, getopt_long and getopt of the GNU C library (POSIX 1003.1, and its long
/// options), with a place of its own. One thread at a time.
class OptionReader {
  public:
    struct Choice {
        const char* short_options;
        const option* long_options;  ///< null: none
        int* long_index;             ///< null: nobody asks
        bool has_long_with_one_dash;
    };

    /// The next option, or -1. Requires that `variables` are the same in all calls.
    int next(int count, char** words, const Choice& choice, OptionVariables variables,
             bool is_posix);

  private:
    enum class Order { permute, in_place, stop };

    void start(const char*& short_options, bool is_posix);
    bool find_word(int count, char** words, OptionVariables& variables, int& result);
    void move_operands(char** words, int end);
    int read_long(int count, char** words, const Choice& choice, OptionVariables& variables,
                  std::string_view prefix, bool is_doubtful);
    int take_long(int count, char** words, const Choice& choice, OptionVariables& variables,
                  std::string_view prefix, const option& found);
    int read_short(int count, char** words, const char* short_options, OptionVariables& variables);

    Order order_ = Order::permute;
    bool is_started_ = false;
    bool is_quiet_ = false;   ///< the short options start with ':'
    char* rest_ = nullptr;    ///< what is left of a word of short options
    int operands_begin_ = 1;  ///< operands that were passed over
    int operands_end_ = 1;
};

}  // namespace headway::launch
