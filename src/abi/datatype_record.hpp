// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "abi/message_calls.hpp"

namespace headway::abi {

/// Writes down how a datatype is made, in the order of MPI_Type_get_contents (MPI-5.0 section
/// 5.1.13), and makes it.
class RecordWriter {
  public:
    RecordWriter(Call& call, int combiner)
        : call_(call), record_(std::make_shared<object::TypeRecord>())
    {
        record_->combiner = combiner;
        record_->is_large = call.is_large();
    }

    /// What is an int in both forms of a call.
    RecordWriter& integer(int value)
    {
        record_->integers.push_back(value);
        return *this;
    }

    RecordWriter& integers(const int values[], int length)
    {
        record_->integers.insert(record_->integers.end(), values, values + length);
        return *this;
    }

    /// What the `_c` form has as MPI_Count.
    RecordWriter& count(MPI_Count value)
    {
        if (record_->is_large) {
            record_->counts.push_back(value);
        } else {
            record_->integers.push_back(static_cast<int>(value));
        }
        return *this;
    }

    RecordWriter& counts(const object::CountArray& values, MPI_Count length)
    {
        for (MPI_Count i = 0; i < length; ++i) {
            count(values[static_cast<std::size_t>(i)]);
        }
        return *this;
    }

    /// What is an address, and in the `_c` form an MPI_Count.
    RecordWriter& address(MPI_Count value)
    {
        (record_->is_large ? record_->counts : record_->addresses).push_back(value);
        return *this;
    }

    RecordWriter& addresses(const MPI_Count values[], MPI_Count length)
    {
        for (MPI_Count i = 0; i < length; ++i) {
            address(values[i]);
        }
        return *this;
    }

    RecordWriter& source(MPI_Datatype handle)
    {
        record_->sources.push_back(object::source_of(call_.rank(), handle));
        return *this;
    }

    /// `layout` is null where its sizes do not fit. Returns an error class.
    int make(data::Layout::Pointer layout, MPI_Datatype* newtype)
    {
        if (layout == nullptr) {
            return call_.fail(MPI_ERR_ARG,
                              "size, bounds or extent of the new datatype would be more than 2^63 "
                              "bytes; give smaller counts or displacements");
        }
        record_->layout = std::move(layout);
        *newtype = object::make_datatype(rank_of(call_), record_);
        return *newtype != MPI_DATATYPE_NULL ? MPI_SUCCESS : fail_for_handles();
    }

  private:
    int fail_for_handles()
    {
        return call_.fail(MPI_ERR_NO_MEM,
                          "too many MPI objects are alive; free datatypes, requests or others");
    }

    Call& call_;
    std::shared_ptr<object::TypeRecord> record_;
};

}  // namespace headway::abi
