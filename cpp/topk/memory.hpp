// A growable array that starts on a cache line, for everything the vector kernels touch.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace topk {

inline constexpr std::size_t kAlignment = 64;

// Trivial elements only. Growing does not keep the contents.
template <class T>
class AlignedBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    T& operator[](std::size_t i) { return data_.get()[i]; }
    const T& operator[](std::size_t i) const { return data_.get()[i]; }

    // At least `size` elements of unspecified value.
    T* ensure(std::size_t size) {
        if (size > capacity_) {
            const std::size_t bytes = (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
            data_.reset();
            capacity_ = 0;
            data_.reset(static_cast<T*>(std::aligned_alloc(kAlignment, bytes)));
            if (!data_) {
                throw std::bad_alloc();
            }
            capacity_ = bytes / sizeof(T);
        }
        return data_.get();
    }

  private:
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    std::unique_ptr<T, Free> data_;
    std::size_t capacity_ = 0;
};

}  // namespace topk
