// Replaces the functions that give memory and threads, so that a test program can make them fail. Include it in one
// file of a program. Without a failure asked for, they do what they always do.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace allocation {

// The calls to come until one fails; negative: none does.
inline std::atomic<std::int64_t> until_failure = -1;
inline std::atomic<std::int64_t> threads_until_failure = -1;

inline bool fails(std::atomic<std::int64_t>& left) {
    return left.load(std::memory_order_relaxed) >= 0 && left.fetch_sub(1, std::memory_order_relaxed) == 0;
}

template <class Function>
Function* original(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace allocation

// A size that no machine has is refused instead of reported.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=1024"; }

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    static auto* const allocate = allocation::original<void*(std::size_t, std::size_t)>("aligned_alloc");
    return allocation::fails(allocation::until_failure) ? nullptr : allocate(alignment, bytes);
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
    static auto* const create =
        allocation::original<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
    return allocation::fails(allocation::threads_until_failure) ? EAGAIN
                                                                : create(thread, attributes, function, argument);
}

// Not inlined: GCC would warn that memory of `new` goes to free().
#define TOPK_NO_INLINE __attribute__((noinline))

TOPK_NO_INLINE void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocation::fails(allocation::until_failure) ? nullptr : std::malloc(bytes);
}
TOPK_NO_INLINE void* operator new(std::size_t bytes) {
    if (void* p = operator new(bytes, std::nothrow)) {
        return p;
    }
    throw std::bad_alloc();
}
TOPK_NO_INLINE void operator delete(void* p) noexcept { std::free(p); }
TOPK_NO_INLINE void operator delete(void* p, std::size_t) noexcept { std::free(p); }
TOPK_NO_INLINE void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
