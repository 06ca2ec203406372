// The checks of data and options. They run once, before a search; nothing below checks again.
#pragma once

#include <cstdint>

#include "topk/base/types.hpp"

namespace topk {

// Return the total weight of the rows. Throws std::invalid_argument if the search could not run or be exact.
std::int64_t validate(const Data& data, const Options& options);

}  // namespace topk
