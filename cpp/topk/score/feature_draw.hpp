// The draw of features at a node: the columns of the other features are not candidates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topk/base/fingerprint.hpp"
#include "topk/base/score_key.hpp"
#include "topk/base/types.hpp"

namespace topk {

// Hash what a node's draw depends on: the seed and the weights of the classes that are present, in ascending order.
template <class Count>
std::uint64_t draw_hash(std::uint64_t seed, const std::vector<std::int32_t>& class_index,
                        const std::vector<Count>& totals) {
    std::uint64_t hash = splitmix64(seed);
    for (std::size_t c = 0; c < totals.size(); ++c) {
        hash = splitmix64(hash ^ static_cast<std::uint64_t>(class_index[c]));
        hash = splitmix64(hash ^ static_cast<std::uint64_t>(totals[c]));
    }
    return hash;
}

// Return a feature's random number at a node with this hash. Features are drawn in ascending order of their numbers.
inline std::uint64_t draw_number(std::uint64_t hash, std::size_t feature) {
    return splitmix64(hash ^ static_cast<std::uint64_t>(feature)) | 1;  // never 0
}

// Remove the keys of all columns whose feature is not drawn. Features without a candidate are passed over.
inline void draw_features(const FeatureDraw& draw, std::uint64_t hash, ScoreKey* keys) {
    const std::size_t n_columns = draw.of_column.size();
    std::vector<std::uint64_t> order;  // random numbers of the features that can split the node
    std::vector<std::uint64_t> number(draw.n_all, 0);
    for (std::size_t j = 0; j < n_columns; ++j) {
        std::uint64_t& own = number[static_cast<std::size_t>(draw.of_column[j])];
        if (keys[j] != kNoScoreKey && own == 0) {
            own = draw_number(hash, static_cast<std::size_t>(draw.of_column[j]));
            order.push_back(own);
        }
    }
    if (order.size() <= draw.n_features) {
        return;
    }
    const auto last = order.begin() + static_cast<std::ptrdiff_t>(draw.n_features - 1);
    std::nth_element(order.begin(), last, order.end());
    for (std::size_t j = 0; j < n_columns; ++j) {
        if (number[static_cast<std::size_t>(draw.of_column[j])] > *last) {
            keys[j] = kNoScoreKey;
        }
    }
}

}  // namespace topk
