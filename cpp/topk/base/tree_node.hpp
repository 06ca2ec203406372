// A finished tree: built from nodes, returned as flat arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "topk/base/types.hpp"

namespace topk {

inline constexpr std::int32_t kLeaf = -1;

struct TreeNode {
    std::int32_t column = kLeaf;
    std::int64_t n_rows = 0;
    std::int64_t n_wrong = 0;  // rows that a leaf here misclassifies
    std::int64_t cost = 0;
    std::vector<std::int32_t> class_index;   // of the classes that are present, ascending
    std::vector<std::int64_t> class_weight;  // theirs
    std::unique_ptr<TreeNode> child[2];      // false, true
};

// Number the nodes in preorder, false side first.
Solution flatten(const TreeNode& tree, std::size_t n_classes);

}  // namespace topk
