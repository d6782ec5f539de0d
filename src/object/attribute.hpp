// SPDX-License-Identifier: Apache-2.0
// Attributes: values that the application caches on an object under keys of its own (MPI-5.0
// section 7.7).
//
// 1. A key that was freed stays while an attribute has it (section 7.7.2): that can still be read
//    and deleted by its number, and the key be freed again, which changes nothing.
// 2. Callbacks may call MPI and may throw: nothing here holds a reference into a set across one.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <mpi.h>

namespace headway::object {

/// What a key's attributes belong to; its callbacks take that handle.
enum class Keyed : std::uint8_t { communicator, datatype, window };

/// Both callbacks of a key as the application gave them; `Handle` is MPI_Comm, MPI_Datatype or
/// MPI_Win. Values of the predefined functions (0: copy nothing, delete nothing; 1: copy the value)
/// are no addresses.
template <typename Handle>
struct AttributeFunctions {
    using Copy = int(Handle, int, void*, void*, void*, int*);
    using Delete = int(Handle, int, void*, void*);
};

struct Keyval {
    using AnyFunction = void (*)();

    Keyed keyed;
    int number;
    AnyFunction copy_function;
    AnyFunction delete_function;
    void* extra_state;
};

/// The keys of a rank. Numbers are not used again.
class KeyvalTable {
  public:
    template <typename Handle>
    int create(Keyed keyed, typename AttributeFunctions<Handle>::Copy* copy_function,
               typename AttributeFunctions<Handle>::Delete* delete_function, void* extra_state)
    {
        return add({keyed, 0, reinterpret_cast<Keyval::AnyFunction>(copy_function),
                    reinterpret_cast<Keyval::AnyFunction>(delete_function), extra_state});
    }

    /// Null where the number is no key of that kind, or one that was freed.
    std::shared_ptr<const Keyval> find(Keyed keyed, int number) const;
    /// Whether it is a key of that kind that was not freed, or that an attribute still has.
    bool exists(Keyed keyed, int number) const;
    /// Requires a key that exists.
    void free(int number);

  private:
    struct Place {
        std::weak_ptr<const Keyval> key;
        std::shared_ptr<const Keyval> held;  ///< null: freed
    };

    int add(Keyval keyval);

    /// Above the predefined keys.
    int next_ = 1024;
    std::unordered_map<int, Place> places_;
    /// So many places are looked through for keys that are gone before another one is made.
    std::size_t places_max_ = 64;
};

/// The attributes of one object, in the order in which they were set.
class AttributeSet {
  public:
    struct Entry {
        std::shared_ptr<const Keyval> key;
        void* value;
    };

    bool is_empty() const noexcept { return entries_.empty(); }
    const std::vector<Entry>& entries() const noexcept { return entries_; }
    /// Null: none has that key. Valid until the set changes.
    const Entry* find(int number) const noexcept;
    /// Requires that no attribute has the key.
    void add(Entry entry) { entries_.push_back(std::move(entry)); }
    void remove(int number);

  private:
    std::vector<Entry> entries_;
};

// The functions below answer MPI_SUCCESS or what a callback answered.

/// Runs the delete callback and removes the attribute; where the callback fails it stays.
template <typename Handle>
int delete_attribute(AttributeSet& set, Handle handle, int number)
{
    const AttributeSet::Entry entry = *set.find(number);
    auto* const function =
        reinterpret_cast<typename AttributeFunctions<Handle>::Delete*>(entry.key->delete_function);
    if (function != nullptr) {
        const int code = function(handle, number, entry.value, entry.key->extra_state);
        if (code != MPI_SUCCESS) {
            return code;
        }
    }
    set.remove(number);
    return MPI_SUCCESS;
}

/// Deletes all, the last set first, until a callback fails.
template <typename Handle>
int delete_attributes(AttributeSet& set, Handle handle)
{
    while (!set.is_empty()) {
        const int code = delete_attribute(set, handle, set.entries().back().key->number);
        if (code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

/// Sets an attribute; a value that it replaces is deleted first.
template <typename Handle>
int set_attribute(AttributeSet& set, Handle handle, const std::shared_ptr<const Keyval>& key,
                  void* value)
{
    if (set.find(key->number) != nullptr) {
        const int code = delete_attribute(set, handle, key->number);
        if (code != MPI_SUCCESS) {
            return code;
        }
    }
    set.add({key, value});
    return MPI_SUCCESS;
}

/// Offers every attribute of `from`, whose handle is `handle`, to its copy callback and adds to
/// `to` what that wants copied, until one fails.
template <typename Handle>
int copy_attributes(const AttributeSet& from, Handle handle, AttributeSet& to)
{
    using Copy = typename AttributeFunctions<Handle>::Copy;
    // A copy: a callback may change the set.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const std::vector<AttributeSet::Entry> entries = from.entries();
    for (const AttributeSet::Entry& entry : entries) {
        const auto bits = reinterpret_cast<std::uintptr_t>(entry.key->copy_function);
        void* value = entry.value;
        int is_copied = bits == reinterpret_cast<std::uintptr_t>(MPI_COMM_DUP_FN) ? 1 : 0;
        if (bits != reinterpret_cast<std::uintptr_t>(MPI_COMM_NULL_COPY_FN) && is_copied == 0) {
            auto* const function = reinterpret_cast<Copy*>(entry.key->copy_function);
            const int code = function(handle, entry.key->number, entry.key->extra_state,
                                      entry.value, static_cast<void*>(&value), &is_copied);
            if (code != MPI_SUCCESS) {
                return code;
            }
        }
        if (is_copied != 0) {
            to.add({entry.key, value});
        }
    }
    return MPI_SUCCESS;
}

}  // namespace headway::object
