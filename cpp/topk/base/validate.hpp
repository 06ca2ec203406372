// The checks of data and options. They run once, before a search; nothing below checks again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "topk/base/types.hpp"

namespace topk {

// Return the total weight of the rows. Throws std::invalid_argument if the search could not run or be exact.
std::int64_t validate(const Data& data, const Options& options);

// Throws std::invalid_argument unless every entry of Objective::second_reading leads to a column that is there.
void check_readings(std::span<const std::int32_t> second_reading, std::size_t n_columns);

}  // namespace topk
