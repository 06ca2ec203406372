// What is known about (set of rows, levels left): the cost of its best tree, or a lower bound of it.
//
// A hash table of 32-byte entries in buckets of four. It grows until its budget is used up and then replaces the entry
// with the fewest levels left, so it may forget but never lies: the search's result does not depend on its size. Keys
// are 128-bit sums of random row keys; two different sets share one with probability 2^-128 per pair.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "topk/kernels/kernels.hpp"

namespace topk {

struct CacheEntry {
    std::int64_t cost = 0;     // exact, or a lower bound
    std::int32_t column = -1;  // of the best split, -1 for a leaf; only if solved
    bool solved = false;
};

class SubsetCache {
  public:
    // `shared`: several threads use it at once.
    SubsetCache(std::size_t budget_bytes, bool shared);

    bool find(const Key& key, int levels, CacheEntry& entry);
    void store(const Key& key, int levels, const CacheEntry& entry);
    void clear();
    std::size_t bytes() const;

  private:
    static constexpr std::size_t kShards = 64;
    static constexpr std::size_t kBucket = 4;

    struct Slot {
        Key key;
        std::int64_t cost;
        std::int32_t column;
        std::int16_t levels;  // 0: empty
        std::int16_t solved;
    };
    struct Shard {
        std::mutex mutex;
        std::vector<Slot> slots;  // a power of two of buckets, or none
        std::size_t used = 0;
    };

    static Key with_levels(Key key, int levels);
    Shard& shard(const Key& key) { return shards_[key.high % kShards]; }
    static Slot* bucket(Shard& shard, const Key& key);
    std::unique_lock<std::mutex> lock(Shard& shard);
    bool grow(Shard& shard);

    std::size_t shard_budget_;  // bytes
    bool shared_;
    std::array<Shard, kShards> shards_;
};

}  // namespace topk
