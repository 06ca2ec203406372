// The entry of the core: everything that a caller includes. The other headers are the core's own.
//
// solve() finds the best tree, near_optimal() the best trees; the other functions turn tables into packed rows, send
// rows down a tree, and count rows that are stored on other machines. All of them check their arguments and throw
// std::invalid_argument; nothing below them does, except where it calls the user's own criterion.
#pragma once

#include "topk/base/types.hpp"
#include "topk/data/boundaries.hpp"
#include "topk/data/pack.hpp"
#include "topk/data/walk.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/remote/ranking.hpp"
#include "topk/remote/shard.hpp"
#include "topk/search/near_optimal.hpp"
#include "topk/search/search.hpp"
