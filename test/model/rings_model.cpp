// SPDX-License-Identifier: Apache-2.0
//
// The push list, the cell ring, the byte ring beside it, and the lock that names its holder.
#include "sync/holder_lock.hpp"
#include "sync/mpsc_list.hpp"
#include "sync/spsc_bytes.hpp"
#include "sync/spsc_cells.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

/// Two producers push two nodes each; the consumer gets each one once, whole and in order.
template <Weakening weakening>
struct PushList : rl::test_suite<PushList<weakening>, 3> {
    using Policy = ModelAtomics<weakening>;
    struct Node : sync::BasicListLink<Policy> {
        ModelPlain<int> number;
    };
    sync::BasicMpscList<Policy> list;
    Node nodes[2][2];

    void thread(unsigned index)
    {
        if (index != 0) {
            for (int each = 0; each < 2; ++each) {
                nodes[index - 1][each].number = each + 1;
                list.push(&nodes[index - 1][each]);
            }
            return;
        }
        int last[2] = {};
        for (int taken = 0; taken < 4;) {
            sync::BasicListLink<Policy>* link = list.take_all();
            if (link == nullptr) {
                Policy::pause(0);
            }
            while (link != nullptr) {
                Node* const node = static_cast<Node*>(link);
                const int producer = node < &nodes[1][0] ? 0 : 1;
                require(node->number == last[producer] + 1, "a producer's nodes are in order");
                last[producer] = node->number;
                ++taken;
                link = link->next;
            }
        }
    }
};

/// Messages of half a line and of a whole one through four lines: gaps, laps and credits all turn.
template <Weakening weakening>
struct CellRing : rl::test_suite<CellRing<weakening>, 2> {
    using Policy = ModelAtomics<weakening>;
    static constexpr std::uint32_t messages = 9;
    static constexpr bool is_whole[messages] = {false, false, false, true, true,
                                                false, true,  false, false};
    sync::BasicSpscCells<Policy, 4, 1> ring;

    void thread(unsigned index)
    {
        for (std::uint32_t number = 0; number < messages;) {
            std::uint32_t tag = 0;
            auto* const words = index == 0 ? ring.reserve(is_whole[number]) : ring.peek(&tag);
            if (words == nullptr) {
                Policy::pause(0);
                continue;
            }
            const std::uint32_t last = is_whole[number] ? 1 : 0;
            if (index == 0) {
                words[0] = number;
                words[last] = number;
                ring.publish(is_whole[number], number);
            } else {
                require(tag == number, "tags are in order");
                require(words[0] == number && words[last] == number, "words belong to their tag");
                ring.consume();
            }
            ++number;
        }
    }
};

/// Pieces of one granule in a byte ring of four; cells carry their ends.
template <Weakening weakening>
struct ByteRing : rl::test_suite<ByteRing<weakening>, 2> {
    using Policy = ModelAtomics<weakening>;
    static constexpr std::uint32_t messages = 6;
    static constexpr std::uint32_t whole = 1;
    static constexpr std::uint32_t announced = 2;
    static constexpr std::uint64_t granule = sync::BasicSpscBytes<Policy>::granule_bytes;
    // Of all interleavings: rounds that ended where the ring was used up to.
    static inline std::uint64_t early_ends = 0;
    sync::BasicSpscCells<Policy, 8, 1> cells;
    sync::BasicSpscBytes<Policy> bytes;
    ModelPlain<std::uint32_t> granules[4];

    ModelPlain<std::uint32_t>& at(std::uint64_t position)
    {
        return granules[position % (4 * granule) / granule];
    }
    void before() { bytes.open(4 * granule); }
    void thread(unsigned index)
    {
        std::uint64_t end_before = 0;
        for (std::uint32_t number = 0; number < messages;) {
            std::uint32_t tag = 0;
            auto* const words = index == 0 ? cells.reserve(true) : cells.peek(&tag);
            sync::ByteReservation piece{};
            if (words == nullptr || (index == 0 && !bytes.reserve(granule, &piece))) {
                Policy::pause(0);
                continue;
            }
            if (index == 0) {
                early_ends += piece.begin != end_before ? 1 : 0;
                end_before = piece.end;
                words[0] = static_cast<std::uint32_t>(piece.end);
                if (number % 2 == 0) {  // its bytes are still to be written
                    cells.announce(announced);
                }
                at(piece.begin) = number;
                cells.publish(true, whole);
            } else {
                const std::uint64_t end = words[0];
                if (tag == announced) {
                    Policy::pause(0);
                    continue;
                }
                require(at(bytes.begin_of(end, granule)) == number, "bytes belong to their cell");
                (void)bytes.release(end);
                (void)cells.consume();
            }
            ++number;
        }
    }
};

/// Three processes and the lock: exclusion, and nobody sleeps for ever.
template <Weakening weakening>
struct Lock : rl::test_suite<Lock<weakening>, 3> {
    sync::BasicHolderLock<ModelAtomics<weakening>> lock;
    ModelPlain<int> counter;

    void thread(unsigned index)
    {
        require(lock.lock(index), "locked");
        require(lock.holder() == static_cast<int>(index), "the lock names its holder");
        counter = counter + 1;
        lock.unlock();
    }
    void after()
    {
        require(counter == 3, "all were inside");
        require(lock.holder() == -1, "free at the end");
    }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr auto strong = Weakening::none;
    constexpr auto no_release = Weakening::no_release;
    constexpr Search bounded{Search::Kind::bounded, 3};
    bool right = true;
    right &= holds<PushList<strong>>("push list", bounded);
    right &= holds<CellRing<strong>>("cell ring", bounded);
    right &= holds<ByteRing<strong>>("byte ring", bounded);
    std::printf("%-60s %llu\n", "  of which rounds ended early",
                static_cast<unsigned long long>(ByteRing<strong>::early_ends));
    right &= ByteRing<strong>::early_ends != 0;
    right &= holds<Lock<strong>>("lock that names its holder", bounded);
    right &= is_refuted<PushList<no_release>>("push list without release", bounded);
    right &= is_refuted<CellRing<no_release>>("cell ring without release", bounded);
    right &= is_refuted<ByteRing<no_release>>("byte ring without release", bounded);
    right &= is_refuted<Lock<no_release>>("lock without release", bounded);
    return right ? 0 : 1;
}
