// The entry point to the core: everything that a caller includes. The other headers are the core's own.
//
// solve() finds the best tree, near_optimal() the best trees; walk() sends rows down a tree; the functions of remote/
// count rows that are stored on other machines; boundaries.hpp finds thresholds, ranks.hpp ranks values. These check
// their arguments and throw std::invalid_argument; nothing below them checks again, except the scores of the user's own
// criterion. pack.hpp turns tables into packed rows; it states preconditions, which the bindings check.
#pragma once

#include "topk/base/types.hpp"
#include "topk/data/boundaries.hpp"
#include "topk/data/pack.hpp"
#include "topk/data/ranks.hpp"
#include "topk/data/walk.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/remote/ranking.hpp"
#include "topk/remote/shard.hpp"
#include "topk/search/near_optimal.hpp"
#include "topk/search/search.hpp"
