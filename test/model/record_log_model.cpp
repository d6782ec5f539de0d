// SPDX-License-Identifier: Apache-2.0
//
// The log of records: a reader beside the writer gets whole records of the number it asked for, or
// nothing.
#include "observe/record_log.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

/// Three records of two words through a log of two places, or of three.
template <Weakening weakening, std::uint64_t capacity>
struct Log : rl::test_suite<Log<weakening, capacity>, 2> {
    using Policy = ModelAtomics<weakening>;
    using RecordLog = observe::RecordLog<Policy, 2>;
    static constexpr std::uint64_t records = 3;
    RecordLog log;
    typename RecordLog::Word words[2 * capacity];

    void thread(unsigned index)
    {
        if (index == 0) {
            for (std::uint64_t number = 0; number < records; ++number) {
                log.write(words, capacity, {number + 1, 10 * (number + 1)});
            }
            return;
        }
        const std::uint64_t written = log.written();
        for (std::uint64_t number = 0; number < written; ++number) {
            typename RecordLog::Values values{};
            if (log.read(words, capacity, number, &values)) {
                require(values[0] == number + 1, "the first word is that of the record");
                require(values[1] == 10 * (number + 1), "and so is the last");
            }
        }
    }
    void after()
    {
        typename RecordLog::Values values{};
        require(log.written() == records, "all were written");
        require(log.read(words, capacity, records - 1, &values), "the newest is there");
        require(!log.read(words, capacity, records - capacity, &values),
                "what may be written over next is not");
    }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr auto strong = Weakening::none;
    constexpr auto no_release = Weakening::no_release;
    constexpr Search bounded{Search::Kind::bounded, 4};
    bool right = true;
    right &= holds<Log<strong, 2>>("log of two places", bounded);
    right &= holds<Log<strong, 3>>("log of three places", bounded);
    right &= is_refuted<Log<no_release, 2>>("log of two places without release", bounded);
    right &= is_refuted<Log<no_release, 3>>("log of three places without release", bounded);
    return right ? 0 : 1;
}
