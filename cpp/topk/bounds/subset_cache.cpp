// Find, store, grow and forget.
#include "topk/bounds/subset_cache.hpp"

#include <algorithm>
#include <new>

namespace topk {

SubsetCache::SubsetCache(std::size_t budget_bytes, bool shared) : budget_(budget_bytes), shared_(shared) {}

Fingerprint SubsetCache::with_levels(Fingerprint subset, int levels) {
    subset.low += static_cast<std::uint64_t>(levels) * 0x9e3779b97f4a7c15U;
    return subset;
}

SubsetCache::Slot* SubsetCache::bucket(Shard& shard, const Fingerprint& id) {
    const std::size_t n_buckets = shard.slots.size() / kBucket;
    return shard.slots.data() + (id.low & (n_buckets - 1)) * kBucket;
}

std::unique_lock<std::mutex> SubsetCache::lock(Shard& shard) {
    return shared_ ? std::unique_lock(shard.mutex) : std::unique_lock<std::mutex>();
}

bool SubsetCache::find(const Fingerprint& subset, int levels, CacheEntry& entry) {
    const Fingerprint id = with_levels(subset, levels);
    Shard& home = shard(id);
    const auto guard = lock(home);
    if (home.slots.empty()) {
        return false;
    }
    const Slot* slots = bucket(home, id);
    for (std::size_t i = 0; i < kBucket; ++i) {
        if (slots[i].levels == levels && slots[i].id == id) {
            entry = {slots[i].cost, slots[i].column, slots[i].solved != 0};
            return true;
        }
    }
    return false;
}

void SubsetCache::store(const Fingerprint& subset, int levels, const CacheEntry& entry) {
    const Fingerprint id = with_levels(subset, levels);
    Shard& home = shard(id);
    const auto guard = lock(home);
    if (2 * home.used >= home.slots.size() && !grow(home) && home.slots.empty()) {
        return;
    }
    Slot* slots = bucket(home, id);
    Slot* victim = slots;
    for (std::size_t i = 0; i < kBucket; ++i) {
        if (slots[i].levels == 0 || (slots[i].levels == levels && slots[i].id == id)) {
            victim = slots + i;
            break;
        }
        victim = slots[i].levels < victim->levels ? slots + i : victim;
    }
    const bool same = victim->levels == levels && victim->id == id;
    if (same && (victim->solved != 0 || (!entry.solved && victim->cost >= entry.cost))) {
        return;  // what is stored says at least as much
    }
    home.used += victim->levels == 0 ? 1 : 0;
    *victim = {id, entry.cost, entry.column, static_cast<std::int16_t>(levels),
               static_cast<std::int16_t>(entry.solved ? 1 : 0)};
}

// Double the shard, if the budget and the memory allow it. While it grows, its old and its new table both count against
// the budget, which all shards share: they grow one after the other, so that in the end almost all of it is used. Room
// for the first bucket of every shard is kept.
bool SubsetCache::grow(Shard& shard) {
    const std::size_t size = std::max(2 * shard.slots.size(), kBucket);
    const std::size_t bytes = size * sizeof(Slot);
    const std::size_t needed = bytes + (shard.slots.empty() ? 0 : kShards * kBucket * sizeof(Slot));
    if (bytes_.load(std::memory_order_relaxed) + needed > budget_) {
        return false;
    }
    if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + needed > budget_) {  // another shard was faster
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        return false;
    }
    Shard larger;
    try {
        larger.slots.resize(size, Slot{{}, 0, 0, 0, 0});
    } catch (const std::bad_alloc&) {
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        return false;
    }
    bytes_.fetch_sub(shard.slots.size() * sizeof(Slot), std::memory_order_relaxed);
    for (const Slot& slot : shard.slots) {
        if (slot.levels == 0) {
            continue;
        }
        Slot* slots = bucket(larger, slot.id);
        Slot* free = std::find_if(slots, slots + kBucket, [](const Slot& s) { return s.levels == 0; });
        *free = slot;  // a bucket divides into two, so there is room
    }
    shard.slots.swap(larger.slots);
    return true;
}

void SubsetCache::clear(Ticker& ticker) {
    for (Shard& shard : shards_) {
        ticker.tick(2 * shard.slots.size());
        std::fill(shard.slots.begin(), shard.slots.end(), Slot{{}, 0, 0, 0, 0});
        shard.used = 0;
    }
}

}  // namespace topk
