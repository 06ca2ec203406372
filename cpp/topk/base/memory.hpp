// A growable array that starts on a cache line, for all memory that the vector kernels touch.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#elif defined(_WIN32)
#include <malloc.h>
#endif

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace topk {

inline constexpr std::size_t kAlignment = 64;
inline constexpr std::size_t kHugePage = std::size_t{1} << 21;

// Returns null if there is not enough memory. Precondition: `bytes` is a multiple of the alignment.
inline void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
#if defined(_WIN32)
    return _aligned_malloc(bytes, alignment);
#else
    return std::aligned_alloc(alignment, bytes);
#endif
}

inline void free_aligned(void* p) {
#if defined(_WIN32)
    _aligned_free(p);
#else
    std::free(p);
#endif
}

// For trivial elements only. Growing does not keep the contents.
template <class T>
class AlignedBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    T& operator[](std::size_t i) { return data_.get()[i]; }
    const T& operator[](std::size_t i) const { return data_.get()[i]; }

    // Make room for at least `size` elements, of unspecified value if the buffer grows. Throws std::bad_alloc.
    T* ensure(std::size_t size) {
        if (size > capacity_) {
            const std::size_t alignment = size * sizeof(T) >= kHugePage ? kHugePage : kAlignment;
            const std::size_t bytes = (size * sizeof(T) + alignment - 1) / alignment * alignment;
            data_.reset();
            capacity_ = 0;
            data_.reset(static_cast<T*>(allocate_aligned(alignment, bytes)));
            if (!data_) {
                throw std::bad_alloc();
            }
#if defined(MADV_HUGEPAGE)
            if (alignment == kHugePage) {
                static_cast<void>(madvise(data_.get(), bytes, MADV_HUGEPAGE));
            }
#endif
            capacity_ = bytes / sizeof(T);
        }
        return data_.get();
    }

  private:
    struct Free {
        void operator()(T* p) const { free_aligned(p); }
    };
    std::unique_ptr<T, Free> data_;
    std::size_t capacity_ = 0;
};

}  // namespace topk
