// Whether data and options make sense.
#pragma once

#include <cstdint>

#include "topk/base/types.hpp"

namespace topk {

// The total weight of the rows. Throws std::invalid_argument if the search could not be exact, or not run at all.
std::int64_t validate(const Data& data, const Options& options);

}  // namespace topk
