// SPDX-License-Identifier: Apache-2.0
#include "object/error_code.hpp"

#include <algorithm>

#include <mpi.h>

#include "object/error_class.hpp"

namespace headway::object {

ErrorCodes::ErrorCodes() noexcept : last_used_(MPI_ERR_LASTCODE) {}

int ErrorCodes::add_class()
{
    const int made = ++last_used_;
    added_.emplace(made, Added{made, false, {}});
    return made;
}

std::optional<int> ErrorCodes::add_code(int error_class)
{
    // A code belongs to a class, not to another code.
    if (class_of(error_class) != error_class) {
        return std::nullopt;
    }
    const int made = ++last_used_;
    added_.emplace(made, Added{error_class, false, {}});
    return made;
}

ErrorCodes::Refusal ErrorCodes::find(int code, Added** found)
{
    const auto entry = added_.find(code);
    if (entry != added_.end()) {
        *found = &entry->second;
        return Refusal::none;
    }
    return error_class_name(code) != nullptr ? Refusal::predefined : Refusal::unknown;
}

ErrorCodes::Refusal ErrorCodes::add_string(int code, std::string_view text)
{
    Added* entry = nullptr;
    if (const Refusal refusal = find(code, &entry); refusal != Refusal::none) {
        return refusal;
    }
    entry->has_string = true;
    entry->text = text;
    return Refusal::none;
}

ErrorCodes::Refusal ErrorCodes::remove(int code, bool is_class)
{
    Added* entry = nullptr;
    if (const Refusal refusal = find(code, &entry); refusal != Refusal::none) {
        return refusal;
    }
    if ((entry->error_class == code) != is_class) {
        return Refusal::wrong_kind;
    }
    if (entry->has_string) {
        return Refusal::has_string;
    }
    const bool has_codes = std::ranges::any_of(added_, [&](const auto& other) {
        return other.first != code && other.second.error_class == code;
    });
    if (has_codes) {
        return Refusal::has_codes;
    }
    added_.erase(code);
    return Refusal::none;
}

ErrorCodes::Refusal ErrorCodes::remove_class(int error_class)
{
    return remove(error_class, true);
}

ErrorCodes::Refusal ErrorCodes::remove_code(int code)
{
    return remove(code, false);
}

ErrorCodes::Refusal ErrorCodes::remove_string(int code)
{
    Added* entry = nullptr;
    if (const Refusal refusal = find(code, &entry); refusal != Refusal::none) {
        return refusal;
    }
    if (!entry->has_string) {
        return Refusal::no_string;
    }
    entry->has_string = false;
    entry->text.clear();
    return Refusal::none;
}

std::optional<int> ErrorCodes::class_of(int code) const
{
    if (const auto entry = added_.find(code); entry != added_.end()) {
        return entry->second.error_class;
    }
    return error_class_name(code) != nullptr ? std::optional(code) : std::nullopt;
}

std::optional<std::string> ErrorCodes::text_of(int code) const
{
    if (const auto entry = added_.find(code); entry != added_.end()) {
        return entry->second.text;
    }
    const char* const name = error_class_name(code);
    if (name == nullptr) {
        return std::nullopt;
    }
    const char* const text = error_class_text(code);
    return std::string(name) + ": " + (text != nullptr ? text : "failed");
}

}  // namespace headway::object
