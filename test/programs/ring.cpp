// SPDX-License-Identifier: Apache-2.0
// As ring.c, in the C++ of the version it is compiled for: the header must be good for each.
#include <mpi.h>

#include <complex>
#include <iostream>
#include <stdexcept>
#include <vector>

#if __cplusplus >= 202002L
#include <span>
#include <version>
#endif

namespace {

template <typename T>
struct datatype;
template <>
struct datatype<int> {
    static MPI_Datatype get() { return MPI_INT; }
};
template <>
struct datatype<std::complex<double>> {
    static MPI_Datatype get() { return MPI_CXX_DOUBLE_COMPLEX; }
};

class Communicator {
  public:
    explicit Communicator(MPI_Comm other)
    {
        if (MPI_Comm_dup(other, &handle_) != MPI_SUCCESS) {
            throw std::runtime_error("MPI_Comm_dup");
        }
    }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    ~Communicator() { MPI_Comm_free(&handle_); }

    int rank() const { return ask(&MPI_Comm_rank); }
    int size() const { return ask(&MPI_Comm_size); }

    template <typename T>
    T sum(T own) const
    {
        T total{};
        MPI_Allreduce(&own, &total, 1, datatype<T>::get(), MPI_SUM, handle_);
        return total;
    }

    template <typename T>
    std::vector<T> gather(T own) const
    {
        std::vector<T> all(static_cast<std::size_t>(size()));
        MPI_Allgather(&own, 1, datatype<T>::get(), all.data(), 1, datatype<T>::get(), handle_);
        return all;
    }

  private:
    int ask(int (*question)(MPI_Comm, int*)) const
    {
        int answer = -1;
        question(handle_, &answer);
        return answer;
    }

    MPI_Comm handle_ = MPI_COMM_NULL;
};

bool is_right(const Communicator& world)
{
    const int size = world.size();
    const std::complex<double> total = world.sum(std::complex<double>(1.0, world.rank()));
    const std::vector<int> ranks = world.gather(world.rank());
#if __cplusplus >= 202002L
    const std::span<const int> seen(ranks);
#else
    const std::vector<int>& seen = ranks;
#endif
    int expected = 0;
    for (const int rank : seen) {
        if (rank != expected++) {
            return false;
        }
    }
    return total == std::complex<double>(size, size * (size - 1) / 2.0);
}

}  // namespace

int main(int argc, char** argv)
{
    bool is_good = false;
    MPI_Init(&argc, &argv);
    {
        const Communicator world(MPI_COMM_WORLD);
        is_good = is_right(world);
        if (world.rank() == 0) {
            std::cout << "the ring has " << world.size() << " members in C++ " << __cplusplus
                      << std::endl;
        }
    }
    MPI_Finalize();
    return is_good ? 0 : 1;
}
