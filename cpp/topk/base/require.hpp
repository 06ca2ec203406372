// What the core's entries ask of their arguments.
#pragma once

#include <stdexcept>

namespace topk {

inline void require(bool condition, const char* message) {
    if (!condition) {
        throw std::invalid_argument(message);
    }
}

}  // namespace topk
