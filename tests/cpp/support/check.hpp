// CHECK counts passed checks and prints failed ones, from any thread. A test program ends with `return
// check::report();`.
#pragma once

#include <atomic>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>

namespace check {

inline std::atomic<long> passed = 0;
inline std::atomic<long> failed = 0;

inline void fail(const std::string& message) {
    static std::mutex mutex;
    constexpr long kPrinted = 20;  // a broken kernel fails thousands of checks in the same way
    if (++failed <= kPrinted) {
        const std::lock_guard guard(mutex);
        std::cerr << message << std::endl;
    }
}

// Return how many of n random problems to check: with a sanitizer, each takes ten times as long.
constexpr std::uint64_t problems(std::uint64_t n) {
#ifdef TOPKTREE_SANITIZED
    return n / 4;
#else
    return n;
#endif
}

inline int report() {
    std::cout << passed << " passed, " << failed << " failed" << std::endl;
    return failed == 0 ? 0 : 1;
}

}  // namespace check

// CHECK(condition) or CHECK(condition, "seed " << seed): what follows the condition is printed if the check fails.
#define CHECK(condition, ...)                                                                                \
    do {                                                                                                     \
        if (static_cast<bool>(condition)) {                                                                  \
            ++check::passed;                                                                                 \
        } else {                                                                                             \
            std::ostringstream message;                                                                      \
            message << __FILE__ << ':' << __LINE__ << ": " << #condition __VA_OPT__(<< "; " << __VA_ARGS__); \
            check::fail(message.str());                                                                      \
        }                                                                                                    \
    } while (false)

#define CHECK_THROWS(exception, expression)               \
    do {                                                  \
        bool thrown = false;                              \
        try {                                             \
            static_cast<void>(expression);                \
        } catch (const exception&) {                      \
            thrown = true;                                \
        }                                                 \
        CHECK(thrown, #expression " throws " #exception); \
    } while (false)
