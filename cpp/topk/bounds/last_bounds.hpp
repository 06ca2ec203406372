// What is known of subsets with one level left: lower bounds of their costs.
//
// A subset is identified by the splits that lead to it: no rows are touched, and the same splits in another order
// agree. The table keeps what was stored last, and stays in the second-level cache. Forgetting costs time only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topk/base/fingerprint.hpp"
#include "topk/base/prefetch.hpp"

namespace topk {

// One per thread of execution.
class LastBounds {
  public:
    explicit LastBounds(std::size_t bytes) : most_(std::bit_floor(std::min(bytes, kMostBytes) / sizeof(Slot))) {}

    // Is there room for anything?
    bool is_used() const { return most_ > 0; }
    // The bound of this subset will be asked for soon.
    void expect(const Fingerprint& subset) const {
        if (!slots_.empty()) {
            prefetch(&slots_[subset.low & (slots_.size() - 1)]);
        }
    }
    // Return the bound of a subset, 0 if none is known.
    std::int64_t find(const Fingerprint& subset) const {
        if (slots_.empty()) {
            return 0;
        }
        const Slot& slot = slots_[subset.low & (slots_.size() - 1)];
        return slot.high == subset.high && slot.low == static_cast<std::uint32_t>(subset.low) ? slot.cost : 0;
    }
    void store(const Fingerprint& subset, std::int64_t cost) {
        if (++n_stored_ > slots_.size() && slots_.size() < most_) {
            grow();
        }
        constexpr std::int64_t kMost = UINT32_MAX;  // a lower bound may be lowered
        slots_[subset.low & (slots_.size() - 1)] = {subset.high, static_cast<std::uint32_t>(subset.low),
                                                    static_cast<std::uint32_t>(std::min(cost, kMost))};
    }

  private:
    static constexpr std::size_t kMostBytes = std::size_t{1} << 19;

    struct Slot {
        std::uint64_t high;  // of the fingerprint
        std::uint32_t low;   // half of its other half
        std::uint32_t cost;
    };

    // Short searches should not pay for a large table.
    void grow() {
        std::vector<Slot> old(std::min(std::max<std::size_t>(4 * slots_.size(), 64), most_), Slot{0, 0, 0});
        old.swap(slots_);
        for (const Slot& slot : old) {
            slots_[slot.low & (slots_.size() - 1)] = slot;
        }
    }

    std::size_t most_;  // slots
    std::size_t n_stored_ = 0;
    std::vector<Slot> slots_;  // a power of two of them, or none
};

}  // namespace topk
