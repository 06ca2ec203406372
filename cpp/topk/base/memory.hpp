// A growable array that starts on a cache line, for all memory that the vector kernels touch.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#elif defined(_WIN32)
#include <malloc.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace topk {

inline constexpr std::size_t kAlignment = 64;
inline constexpr std::size_t kPage = std::size_t{1} << 16;  // no system that we build for has larger ones
inline constexpr std::size_t kHugePage = std::size_t{1} << 21;
// Blocks of this size or more come from the system and go back to it. The heap would keep many of them.
inline constexpr std::size_t kLargeBlock = std::size_t{1} << 19;

#if defined(__linux__)
// Return pages, zeroed, from the system; null if there are not enough. The first one is aligned like a huge page if
// there is room for one: the system then uses these for all but the end of the block.
inline void* map_pages(std::size_t bytes) {
    const std::size_t slack = bytes < kHugePage ? 0 : kHugePage;
    void* const pages = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return nullptr;
    }
    if (slack == 0) {
        return pages;
    }
    auto* const begin = static_cast<std::byte*>(pages);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
    if (before > 0) {
        munmap(begin, before);
    }
    if (before < slack) {
        munmap(begin + before + bytes, slack - before);
    }
    static_cast<void>(madvise(begin + before, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
    return begin + before;
}
#endif

// Return an aligned block; null if there is not enough memory. Precondition: `bytes` is a multiple of the alignment,
// and for large blocks of the size of a page.
inline void* allocate_aligned(std::size_t bytes) {
#if defined(_WIN32)
    return _aligned_malloc(bytes, kAlignment);
#else
#if defined(__linux__)
    if (bytes >= kLargeBlock) {
        return map_pages(bytes);
    }
#endif
    return std::aligned_alloc(kAlignment, bytes);
#endif
}

inline void free_aligned(void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(_WIN32)
    _aligned_free(p);
#else
#if defined(__linux__)
    if (bytes >= kLargeBlock) {
        munmap(p, bytes);
        return;
    }
#endif
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
        if (size > capacity()) {
            const std::size_t unit = size * sizeof(T) >= kLargeBlock ? kPage : kAlignment;
            const std::size_t bytes = (size * sizeof(T) + unit - 1) / unit * unit;
            data_.reset();
            data_ = {static_cast<T*>(allocate_aligned(bytes)), Free{bytes}};
            if (!data_) {
                throw std::bad_alloc();
            }
        }
        return data_.get();
    }

  private:
    struct Free {
        std::size_t bytes = 0;
        void operator()(T* p) const { free_aligned(p, bytes); }
    };
    std::size_t capacity() const { return data_ ? data_.get_deleter().bytes / sizeof(T) : 0; }

    std::unique_ptr<T, Free> data_;
};

}  // namespace topk
