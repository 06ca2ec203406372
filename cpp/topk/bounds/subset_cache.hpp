// A cache of results: for (set of rows, levels left), the cost of the best tree or a lower bound of it.
//
// A hash table of 32-byte entries in buckets of four. It grows until its budget is used up and then replaces the entry
// with the fewest levels left, which is the cheapest one to compute again. Forgetting costs time only: the result of a
// search does not depend on the size of its cache. Subsets are identified by fingerprints; see base/fingerprint.hpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "topk/base/fingerprint.hpp"
#include "topk/parallel/stop.hpp"

namespace topk {

struct CacheEntry {
    std::int64_t cost = 0;     // exact, or a lower bound
    std::int32_t column = -1;  // of the best split, -1 for a leaf; valid only if solved
    bool solved = false;
};

class SubsetCache {
  public:
    // `shared`: several threads use it at once, so that every access takes a lock.
    SubsetCache(std::size_t budget_bytes, bool shared);

    // levels >= 1. find() returns whether there is an entry, and copies it.
    bool find(const Fingerprint& subset, int levels, CacheEntry& entry);
    void store(const Fingerprint& subset, int levels, const CacheEntry& entry);
    void clear(Ticker& ticker);  // throws Stopped, with a part of the entries left
    std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  private:
    static constexpr std::size_t kShards = 64;
    static constexpr std::size_t kBucket = 4;

    struct Slot {
        Fingerprint id;  // of the subset and the levels
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

    static Fingerprint with_levels(Fingerprint subset, int levels);
    Shard& shard(const Fingerprint& id) { return shards_[id.high % kShards]; }
    static Slot* bucket(Shard& shard, const Fingerprint& id);
    std::unique_lock<std::mutex> lock(Shard& shard);
    bool grow(Shard& shard);

    std::size_t budget_;  // bytes
    std::atomic<std::size_t> bytes_ = 0;
    bool shared_;
    std::array<Shard, kShards> shards_;
};

}  // namespace topk
