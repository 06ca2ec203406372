// Checks of arguments, for the functions of topk.hpp only. Code below them relies on what was checked there.
#pragma once

#include <stdexcept>

namespace topk {

inline void require(bool condition, const char* message) {
    if (!condition) {
        throw std::invalid_argument(message);
    }
}

}  // namespace topk
