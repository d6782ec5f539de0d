// SPDX-License-Identifier: Apache-2.0
#include "rank_environment.hpp"

#include <cstring>

namespace headway::launch {

RankEnvironment::RankEnvironment(const std::vector<std::string>& variables)
    : texts_(variables.begin(), variables.end())
{
    for (std::string& each : texts_) {
        array_.push_back(each.data());
    }
    array_.push_back(nullptr);
}

void RankEnvironment::attach(char*** variable)
{
    const std::lock_guard lock(mutex_);
    variable_ = variable;
    tell_program();
}

void RankEnvironment::tell_program() noexcept
{
    if (variable_ != nullptr) {
        *variable_ = array_.data();
    }
}

/// A program may have put an array of its own in the place of ours.
void RankEnvironment::read_program() noexcept
{
    if (variable_ == nullptr || *variable_ == array_.data()) {
        return;
    }
    array_.clear();
    for (char** each = *variable_; each != nullptr && *each != nullptr; ++each) {
        array_.push_back(*each);
    }
    array_.push_back(nullptr);
}

char** RankEnvironment::find(std::string_view name) noexcept
{
    read_program();
    for (char*& each : array_) {
        if (each != nullptr && std::strncmp(each, name.data(), name.size()) == 0 &&
            each[name.size()] == '=') {
            return &each;
        }
    }
    return nullptr;
}

char* RankEnvironment::get(std::string_view name)
{
    const std::lock_guard lock(mutex_);
    char** const found = find(name);
    return found == nullptr ? nullptr : *found + name.size() + 1;
}

void RankEnvironment::store(std::string_view name, char* assignment)
{
    if (char** const found = find(name); found != nullptr) {
        *found = assignment;
    } else {
        array_.back() = assignment;
        array_.push_back(nullptr);
    }
    tell_program();
}

bool RankEnvironment::set(std::string_view name, std::string_view value, bool overwrites)
{
    if (name.empty() || name.find('=') != std::string_view::npos) {
        return false;
    }
    const std::lock_guard lock(mutex_);
    if (overwrites || find(name) == nullptr) {
        texts_.push_back(std::string(name) + "=" + std::string(value));
        store(name, texts_.back().data());
    }
    return true;
}

void RankEnvironment::put(char* assignment)
{
    const char* const end = std::strchr(assignment, '=');
    if (end == nullptr) {
        unset(assignment);
        return;
    }
    const std::lock_guard lock(mutex_);
    store({assignment, static_cast<std::size_t>(end - assignment)}, assignment);
}

bool RankEnvironment::unset(std::string_view name)
{
    if (name.empty() || name.find('=') != std::string_view::npos) {
        return false;
    }
    const std::lock_guard lock(mutex_);
    while (char** const found = find(name)) {
        array_.erase(array_.begin() + (found - array_.data()));
    }
    tell_program();
    return true;
}

void RankEnvironment::clear()
{
    const std::lock_guard lock(mutex_);
    array_.assign(1, nullptr);
    tell_program();
}

}  // namespace headway::launch
