// The draw of features at a node: the columns of the others are no candidates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topk/base/mix.hpp"
#include "topk/base/score_key.hpp"
#include "topk/base/types.hpp"

namespace topk {

// What a node's draw depends on: the seed, and the weights of the classes that it has, in their order.
template <class Count>
std::uint64_t draw_hash(std::uint64_t seed, const std::vector<std::int32_t>& class_index,
                        const std::vector<Count>& totals) {
    std::uint64_t hash = mix(seed);
    for (std::size_t c = 0; c < totals.size(); ++c) {
        hash = mix(hash ^ static_cast<std::uint64_t>(class_index[c]));
        hash = mix(hash ^ static_cast<std::uint64_t>(totals[c]));
    }
    return hash;
}

// A feature's place in the order in which a node with this hash draws: lower ones come first.
inline std::uint64_t draw_number(std::uint64_t hash, std::size_t feature) {
    return mix(hash ^ static_cast<std::uint64_t>(feature)) | 1;  // never 0
}

// Takes the keys away from all columns but those of the drawn features. Features without a candidate are not drawn:
// those that are left come in the order of random numbers.
inline void draw_features(const FeatureDraw& draw, std::uint64_t hash, std::int64_t* keys) {
    const std::size_t n_columns = draw.of_column.size();
    std::vector<std::uint64_t> order;  // the random numbers of the features that can split
    std::vector<std::uint64_t> number(draw.n_all, 0);
    for (std::size_t j = 0; j < n_columns; ++j) {
        std::uint64_t& own = number[static_cast<std::size_t>(draw.of_column[j])];
        if (keys[j] != kNoKey && own == 0) {
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
            keys[j] = kNoKey;
        }
    }
}

}  // namespace topk
