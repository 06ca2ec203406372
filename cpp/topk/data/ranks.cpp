// A radix sort of the first 32 bits in which the values differ. Values that share these are sorted once more, by the
// bits that follow: they are few, unless they are equal.
#include "topk/data/ranks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "topk/base/require.hpp"
#include "topk/base/types.hpp"

namespace topk {
namespace {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = 3;
constexpr std::size_t kBuckets = std::size_t{1} << kDigitBits;
constexpr std::size_t kFew = 512;  // rows that are sorted by comparisons: the buckets alone take longer

using Entry = Ranker::Entry;

std::size_t digit(Entry entry, std::size_t d) { return entry.bits >> (d * kDigitBits) & (kBuckets - 1); }

// Return an integer per number, in the order of the numbers.
std::uint64_t key_of(double value) {
    constexpr double kLargest = std::numeric_limits<double>::max();
    const auto bits = std::bit_cast<std::uint64_t>(std::clamp(value, -kLargest, kLargest) + 0.0);  // no negative zero
    return bits >> 63 != 0 ? ~bits : bits | std::uint64_t{1} << 63;
}

class Sorter {
  public:
    explicit Sorter(const double* values) : values_(values) {}

    std::uint64_t key(Entry entry) const { return key_of(values_[entry.row]); }

    // Sort by value. In the end, `bits` are 0 for the first of equal values and 1 for the others.
    void sort(std::span<Entry> entries, std::span<Entry> buffer) const {
        if (entries.size() <= kFew) {
            std::sort(entries.begin(), entries.end(), [&](Entry a, Entry b) { return key(a) < key(b); });
            for (std::size_t i = entries.size(); i-- > 1;) {
                entries[i].bits = key(entries[i]) == key(entries[i - 1]) ? 1 : 0;
            }
            if (!entries.empty()) {
                entries[0].bits = 0;
            }
            return;
        }
        std::uint64_t lowest = UINT64_MAX;
        std::uint64_t highest = 0;
        for (const Entry entry : entries) {
            lowest = std::min(lowest, key(entry));
            highest = std::max(highest, key(entry));
        }
        const int shift = lowest == highest ? 0 : std::countl_zero(highest - lowest);
        // Those of the lowest value, often zeros and most of the rows, are in order. No branch: it is hard to predict.
        std::size_t n_lowest = 0;
        std::size_t n_others = 0;
        for (Entry entry : entries) {
            const std::uint64_t above = key(entry) - lowest;
            entry.bits = static_cast<std::uint32_t>(above << shift >> 32);
            entries[n_lowest] = entry;
            buffer[n_others] = entry;
            n_lowest += above == 0 ? 1 : 0;
            n_others += above == 0 ? 0 : 1;
        }
        const bool is_exact = shift >= 32 || lowest == highest;
        if (n_others > 0) {
            sort_by_bits(buffer.first(n_others), entries.subspan(n_lowest));
        }
        for (std::size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
            for (end = begin + 1; end < entries.size() && entries[end].bits == entries[begin].bits;) {
                ++end;
            }
            const std::span<Entry> run = entries.subspan(begin, end - begin);
            if (run.size() > 1 && !is_exact && !are_equal(run)) {
                sort(run, buffer);
            } else {
                run[0].bits = 0;
                std::for_each(run.begin() + 1, run.end(), [](Entry& entry) { entry.bits = 1; });
            }
        }
    }

  private:
    bool are_equal(std::span<const Entry> run) const {
        return std::all_of(run.begin(), run.end(), [&](Entry entry) { return key(entry) == key(run[0]); });
    }

    // Write the entries of `from`, which is changed, to `sorted`. Digits that all of them share take no pass.
    static void sort_by_bits(std::span<Entry> from, const std::span<Entry> sorted) {
        std::array<std::array<std::uint32_t, kBuckets>, kDigits> next = {};
        for (const Entry entry : from) {
            for (std::size_t d = 0; d < kDigits; ++d) {
                ++next[d][digit(entry, d)];
            }
        }
        std::span<Entry> to = sorted;
        for (std::size_t d = 0; d < kDigits; ++d) {
            if (next[d][digit(from[0], d)] == from.size()) {
                continue;
            }
            std::uint32_t begin = 0;
            for (std::uint32_t& count : next[d]) {
                begin += std::exchange(count, begin);
            }
            for (const Entry entry : from) {
                to[next[d][digit(entry, d)]++] = entry;
            }
            std::swap(from, to);
        }
        if (from.data() != sorted.data()) {
            std::copy(from.begin(), from.end(), sorted.begin());
        }
    }

    const double* values_;
};

}  // namespace

Ranks Ranker::rank(const double* values, std::size_t n, std::ptrdiff_t stride, std::uint32_t* ranks) {
    require(n < std::size_t{1} << 31, "there must be fewer than 2^31 values");
    Ranks result;
    double* const own = values_.ensure(n);
    Entry* const entries = entries_.ensure(2 * n);
    std::size_t n_present = 0;
    for (std::size_t row = 0; row < n; ++row, values += stride) {
        const double value = *values;
        own[row] = value;
        ranks[row] = OrderedGroup::kMissing;
        if (!std::isnan(value)) {
            entries[n_present++] = {0, static_cast<std::uint32_t>(row)};
            result.are_whole = result.are_whole && value == std::floor(value) && std::abs(value) < 0x1p53;
        }
    }
    Sorter(own).sort({entries, n_present}, {entries + n, n_present});
    for (std::size_t i = 0; i < n_present; ++i) {
        result.n += 1 - entries[i].bits;
        ranks[entries[i].row] = static_cast<std::uint32_t>(result.n - 1);
    }
    return result;
}

}  // namespace topk
