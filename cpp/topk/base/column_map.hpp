// What an index among all columns stands for: a column of bits, or a threshold of an ordered group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topk/base/types.hpp"

namespace topk {

enum class Reading { first, second, is_missing };

struct ColumnPlace {
    std::int32_t group = -1;  // -1: a column of bits
    std::size_t index = 0;    // among the columns of bits, or among the group's thresholds
    Reading reading = Reading::first;
};

class ColumnMap {
  public:
    explicit ColumnMap(const Data& data) : groups_(data.groups), n_columns_(data.n_columns) {
        for (const OrderedGroup& group : groups_) {
            n_columns_ += group.n_columns();
        }
    }

    std::size_t n_columns() const { return n_columns_; }

    ColumnPlace place(std::int32_t column) const {
        auto index = static_cast<std::size_t>(column);
        std::size_t n_before = 0;  // columns of groups
        for (std::size_t g = 0; g < groups_.size() && groups_[g].first <= index; ++g) {
            const OrderedGroup& group = groups_[g];
            if (index < group.first + group.n_columns()) {
                index -= group.first;
                const std::size_t n = group.n_thresholds();
                const auto reading = static_cast<Reading>(n == 0 ? 2 : index / n);
                return {static_cast<std::int32_t>(g), n == 0 ? 0 : index % n, reading};
            }
            n_before += group.n_columns();
        }
        return {-1, index - n_before};
    }

    // Return the index of a column of bits among all columns.
    std::int32_t of_bits(std::size_t j) const {
        for (const OrderedGroup& group : groups_) {
            j += group.first <= j ? group.n_columns() : 0;
        }
        return static_cast<std::int32_t>(j);
    }

    std::int32_t of_threshold(std::size_t group, std::size_t threshold, Reading reading) const {
        const std::size_t before = static_cast<std::size_t>(reading) * groups_[group].n_thresholds();
        return static_cast<std::int32_t>(groups_[group].first + before + threshold);
    }

  private:
    std::span<const OrderedGroup> groups_;
    std::size_t n_columns_;
};

}  // namespace topk
