// SPDX-License-Identifier: Apache-2.0
// As hosted.c, of what C++ adds: streams, exceptions, destructors of globals and thread-locals.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string label()
{
    const char* rank = std::getenv("MPI_LOCALRANKID");
    return std::string(rank == nullptr ? "?" : rank) + ": ";
}

// One insertion a line: ranks share the stream.
void say(const std::string& text)
{
    std::cout << label() + text + "\n" << std::flush;
}

struct Noisy {
    explicit Noisy(std::string text) : name(std::move(text)) { say("made " + name); }
    Noisy(const Noisy&) = delete;
    Noisy& operator=(const Noisy&) = delete;
    ~Noisy() { say("gone " + name); }
    std::string name;
};

Noisy global("global");
thread_local Noisy local("local");
thread_local int number = 20;

struct Own : std::runtime_error {
    using std::runtime_error::runtime_error;
};

int thrown(int depth)
{
    if (depth == 0) {
        throw Own("own");
    }
    return thrown(depth - 1) + 1;
}

}  // namespace

int main(int count, char** words)
{
    local.name += " of main";
    ++number;
    int seen = 0;
    std::thread([&seen] {
        local.name += " of thread";
        seen = number;
    }).join();
    say("numbers " + std::to_string(number) + " " + std::to_string(seen));
    try {
        thrown(10);
    } catch (const std::exception& error) {
        say(std::string("caught ") + error.what() + " " +
            (dynamic_cast<const Own*>(&error) != nullptr ? "own" : "other"));
    }
    try {
        (void)std::vector<int>().at(3);
    } catch (const std::out_of_range&) {
        say("caught out_of_range");
    }
    const auto shared = std::make_shared<Noisy>("shared");
    const auto also = shared;
    std::ostringstream text;
    text << std::hex << 255 << ' ' << 1.5;
    say(text.str());
    static const auto kept = std::make_unique<Noisy>("static");
    if (count > 1 && std::string(words[1]) == "throw" && label() == "1: ") {
        throw Own("nobody catches this");
    }
    return 0;
}
