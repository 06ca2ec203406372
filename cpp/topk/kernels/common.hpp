// The loops that are the same source for every instruction set, compiled once per <isa>.cpp with its own flags.
//
// Everything is in an unnamed namespace and calls nothing from the standard library: an inline function compiled with
// AVX-512 flags must never be the copy the linker keeps for the rest of the program.
#pragma once

#include "topk/base/fingerprint.hpp"
#include "topk/base/score_key.hpp"
#include "topk/kernels/kernels.hpp"
#include "topk/kernels/lanes.hpp"
#include "topk/kernels/xlog2x.hpp"

namespace topk {
namespace {

inline const Int32s& load(const std::int32_t* p) { return *reinterpret_cast<const Int32s*>(p); }

// Errors of one child split on each of kInt32s columns: its weight minus the heaviest class on each side.
struct SideMaxima {
    Int32s true_max = {}, false_max = {}, n_true = {};

    void add(const Int32s& count, std::int32_t total) {
        raise_to(true_max, count);
        raise_to(false_max, total - count);
        n_true += count;  // left out by the compiler where nobody asks for it
    }
    template <bool kLimited>
    void finish(std::int32_t weight, std::int32_t min_side, std::int32_t* errors_out, Int32s& best,
                Int32s& best_free) const {
        Int32s errors = weight - true_max - false_max;
        lower_to(best_free, errors);
        if constexpr (kLimited) {
            const Int32s none = Int32s{} + kNoSplit;
            const Int32s too_small = (n_true < min_side) | (weight - n_true < min_side);
            choose(too_small, none, errors, errors);
            lower_to(best, errors);
        }
        *reinterpret_cast<Int32s*>(errors_out) = errors;
    }
};

void add_product(const std::int32_t* counts, std::int32_t factor, std::size_t n_columns, std::int32_t* out) {
    for (std::size_t j = 0; j < n_columns; ++j) {
        out[j] += counts[j] * factor;
    }
}

// `where`: the result of a comparison.
inline bool is_everywhere(const Int32s& where) {
    std::int32_t all = where[0];
    for (int i = 1; i < static_cast<int>(kInt32s); ++i) {
        all &= where[i];
    }
    return all != 0;
}

template <bool kLimited>
Minima last_level_loop(const PairTable& t, std::int32_t min_side, std::size_t n_columns) {
    std::int32_t small_weight = 0;
    std::int32_t large_weight = 0;
    for (std::size_t c = 0; c < t.n_classes; ++c) {
        small_weight += t.small_totals[c];
        large_weight += t.parent_totals[c] - t.small_totals[c];
    }
    Int32s best_small = Int32s{} + kNoSplit;
    Int32s best_large = best_small;
    Int32s small_free = best_small;
    Int32s large_free = best_small;
    for (std::size_t j = 0; j < n_columns; j += kInt32s) {
        SideMaxima small;
        SideMaxima large;
        for (std::size_t c = 0; c < t.n_classes; ++c) {
            const Int32s parent = load(t.parent_rows[c] + j);
            if (t.small_rows[c] == nullptr) {
                large.add(parent, t.parent_totals[c]);
                continue;
            }
            const Int32s count = load(t.small_rows[c] + j);
            small.add(count, t.small_totals[c]);
            large.add(parent - count, t.parent_totals[c] - t.small_totals[c]);
        }
        small.template finish<kLimited>(small_weight, min_side, t.small_errors + j, best_small, small_free);
        large.template finish<kLimited>(large_weight, min_side, t.large_errors + j, best_large, large_free);
    }
    Minima minima = {0, 0, smallest_lane(small_free), smallest_lane(large_free)};
    minima.small = kLimited ? smallest_lane(best_small) : minima.small_free;
    minima.large = kLimited ? smallest_lane(best_large) : minima.large_free;
    return minima;
}

Minima last_level(const PairTable& t, std::int32_t min_side, std::size_t n_columns) {
    return min_side > 1 ? last_level_loop<true>(t, min_side, n_columns)
                        : last_level_loop<false>(t, min_side, n_columns);
}

// The blocks between nested columns are looked at in parts of this size.
inline constexpr std::size_t kPart = 64;

inline std::size_t part_size(std::size_t begin, std::size_t n_columns) {
    return n_columns - begin < kPart ? n_columns - begin : kPart;
}

inline std::int32_t total_weight(const CountTable& t) {
    std::int32_t weight = 0;
    for (std::size_t c = 0; c < t.n_classes; ++c) {
        weight += t.totals[c];
    }
    return weight;
}

// A class has no more rows on the false side than it has there at the end of the block, and on the true side than at
// its beginning. Two classes that are all there is are on different sides, since else the split would be a leaf.
std::int32_t block_errors(const CountTable& t, NestedColumns nested, std::int32_t* out) {
    const std::int32_t weight = total_weight(t);
    std::int32_t fewest = kNoSplit;
    for (std::size_t begin = 0; begin < nested.n; begin += kPart) {
        const std::size_t n = part_size(begin, nested.n);
        std::int32_t at_begin[kPart] = {};  // the heaviest class on the true side
        std::int32_t at_end[kPart] = {};    // and on the false side
        std::int32_t errors[kPart];
        const auto counts_of = [&](std::size_t c,
                                   std::int32_t* counts) {  // the beginning of the first block, then ends
            const std::int32_t* row = t.rows[c] + nested.first + begin;
            counts[0] = begin == 0 ? t.totals[c] : row[-1];
            for (std::size_t i = 0; i < n; ++i) {
                counts[i + 1] = row[i];
            }
        };
        if (t.n_classes == 2) {
            std::int32_t a[kPart + 1];
            std::int32_t b[kPart + 1];
            counts_of(0, a);
            counts_of(1, b);
            for (std::size_t i = 0; i < n; ++i) {
                const std::int32_t errors_ab = t.totals[1] + a[i + 1] - b[i];
                const std::int32_t errors_ba = t.totals[0] + b[i + 1] - a[i];
                errors[i] = errors_ab < errors_ba ? errors_ab : errors_ba;
            }
        } else {
            for (std::size_t c = 0; c < t.n_classes; ++c) {
                std::int32_t counts[kPart + 1];
                counts_of(c, counts);
                for (std::size_t i = 0; i < n; ++i) {
                    const std::int32_t n_false = t.totals[c] - counts[i + 1];
                    at_begin[i] = at_begin[i] > counts[i] ? at_begin[i] : counts[i];
                    at_end[i] = at_end[i] > n_false ? at_end[i] : n_false;
                }
            }
            for (std::size_t i = 0; i < n; ++i) {
                errors[i] = weight - at_begin[i] - at_end[i];
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            const std::int32_t bound = nested.has_gap[begin + i] != 0 ? errors[i] : kNoSplit;
            out[begin + i] = bound;
            fewest = bound < fewest ? bound : fewest;
        }
    }
    return fewest;
}

// With l[c] rows of class c on one side and n in all, the gain is the sum of f_c(l[c]) = x(l[c]) + x(t[c] - l[c]) over
// the classes, minus g(n) = x(n) + x(total - n), minus what all splits have in common, where x is xlog2x. All these are
// convex. So g is above its tangent at any m, with a slope d, and f_c(l) - d * l is highest at an end of its range.
// Rounded terms are convex only up to a unit each, and the slope up to two; the last terms make up for it.
void entropy_block_bounds(const CountTable& t, const EntropyTable& e, NestedColumns nested, std::int64_t* out) {
    const std::int64_t* x = e.xlog2x;
    const std::int32_t weight = total_weight(t);
    const auto n_terms = static_cast<std::int64_t>(2 * t.n_classes + 4);
    for (std::size_t begin = 0; begin < nested.n; begin += kPart) {
        const std::size_t n = part_size(begin, nested.n);
        std::int32_t left[kPart + 1] = {};  // rows on the false side at the beginning of the first block, then at ends
        std::int64_t slope[kPart];
        std::int64_t bound[kPart];
        for (std::size_t c = 0; c < t.n_classes; ++c) {
            const std::int32_t* row = t.rows[c] + nested.first + begin;
            left[0] += begin == 0 ? 0 : t.totals[c] - row[-1];
            for (std::size_t i = 0; i < n; ++i) {
                left[i + 1] += t.totals[c] - row[i];
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            const std::int32_t half = (left[i] + left[i + 1]) / 2;
            const std::int32_t middle = half < weight ? half : weight - 1;
            const std::int64_t at_middle = x[middle] + x[weight - middle];
            slope[i] = x[middle + 1] + x[weight - middle - 1] - at_middle;
            bound[i] = slope[i] * middle - at_middle - e.whole + n_terms + 4 * (left[i + 1] - left[i]);
        }
        for (std::size_t c = 0; c < t.n_classes; ++c) {
            const std::int32_t* row = t.rows[c] + nested.first + begin;
            std::int32_t n_false[kPart + 1];
            std::int64_t term[kPart + 1];
            n_false[0] = begin == 0 ? 0 : t.totals[c] - row[-1];
            for (std::size_t i = 0; i < n; ++i) {
                n_false[i + 1] = t.totals[c] - row[i];
            }
            for (std::size_t i = 0; i <= n; ++i) {
                term[i] = x[n_false[i]] + x[t.totals[c] - n_false[i]];
            }
            for (std::size_t i = 0; i < n; ++i) {
                const std::int64_t at_begin = term[i] - slope[i] * n_false[i];
                const std::int64_t at_end = term[i + 1] - slope[i] * n_false[i + 1];
                bound[i] += at_begin > at_end ? at_begin : at_end;
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            const bool divides = nested.has_gap[begin + i] != 0 && left[i + 1] - left[i] >= 2;
            out[begin + i] = divides ? round_gain(bound[i]) : -1;
        }
    }
}

inline void raise_to(std::int64_t& bound, std::int64_t x) { bound = bound > x ? bound : x; }

template <bool kScaled>
void raise_bounds_loop(const BoundTable& t, std::size_t n_columns) {
    const std::int64_t scale = kScaled ? t.cost_scale : 1;
    for (std::size_t j = 0; j < n_columns; ++j) {
        const std::int32_t only_true = t.n_true[j] - t.both[j];
        raise_to(t.lower_false[j], t.cost_a - t.both[j] * scale);
        raise_to(t.lower_false[j], t.cost_b - only_true * scale);
        raise_to(t.lower_true[j], t.cost_a - (t.weight_a - t.both[j]) * scale);
        raise_to(t.lower_true[j], t.cost_b - (t.weight_b - only_true) * scale);
    }
}

void raise_bounds(const BoundTable& t, std::size_t n_columns) {
    if (t.cost_scale == 1) {
        raise_bounds_loop<false>(t, n_columns);
    } else {
        raise_bounds_loop<true>(t, n_columns);
    }
}

// sums[i] += sign * (the terms of both sides of column i), for kInt32s columns.
template <int sign>
inline void add_terms(const std::int32_t* n_true, std::int32_t total, double unit, std::int64_t* sums) {
    for (std::size_t i = 0; i < kInt32s; i += kReals) {
        Reals n;
        convert(n_true + i, n);
        const Reals rest = static_cast<double>(total) - n;
        Integers term;
        Integers other;
        xlog2x_of(n, unit, term);
        xlog2x_of(rest, unit, other);
        *reinterpret_cast<Integers*>(sums + i) += sign * (term + other);
    }
}

// keys[j] = make_score_key(round_gain(gain of j - whole), j), or kNoScoreKey. add_gain(j, n_true, weight, gain) adds
// the terms of kInt32s columns from j on, whose true rows weigh n_true. Blocks of columns that split nothing are
// skipped: deep in a tree there are many of them.
template <class AddGain>
inline void score_keys(const CountTable& t, std::int64_t whole, std::int32_t min_side, std::size_t n_columns,
                       ScoreKey* keys, const AddGain& add_gain) {
    constexpr std::int64_t kHalf = std::int64_t{1} << (kRoundBits - 1);
    std::uint64_t first_columns[kWords];
    for (std::size_t i = 0; i < kWords; ++i) {
        first_columns[i] = kMaxColumns - i;
    }
    Words columns;
    std::memcpy(&columns, first_columns, sizeof(columns));
    std::int32_t weight = 0;
    for (std::size_t c = 0; c < t.n_classes; ++c) {
        weight += t.totals[c];
    }
    for (std::size_t j = 0; j < n_columns; j += kInt32s) {
        Int32s n_true = {};
        for (std::size_t c = 0; c < t.n_classes; ++c) {
            n_true += load(t.rows[c] + j);
        }
        const Int32s too_small = (n_true < min_side) | (weight - n_true < min_side);
        alignas(64) std::int64_t gain[kInt32s] = {};
        if (!is_everywhere(too_small)) {
            add_gain(j, reinterpret_cast<const std::int32_t*>(&n_true), weight, gain);
        }
        for (std::size_t i = 0; i < kInt32s; i += kReals) {
            Integers dropped;
            convert(reinterpret_cast<const std::int32_t*>(&too_small) + i, dropped);
            Integers rounded = *reinterpret_cast<const Integers*>(gain + i) + (kHalf - whole);
            choose_term(rounded > 0, rounded, Integers{}, rounded);
            Words key;  // the shift of a signed vector takes several instructions
            std::memcpy(&key, &rounded, sizeof(key));
            key = ((key >> kRoundBits) << kColumnBits) | (columns - (j + i));
            std::memcpy(&rounded, &key, sizeof(key));
            choose_term(dropped != 0, Integers{} + kNoScoreKey, rounded, *reinterpret_cast<Integers*>(keys + j + i));
        }
    }
}

[[maybe_unused]] void entropy_score_keys_loop(const CountTable& t, const EntropyTable& e, std::int32_t min_side,
                                              std::size_t n_columns, ScoreKey* keys) {
    score_keys(t, e.whole, min_side, n_columns, keys,
               [&](std::size_t j, const std::int32_t* n_true, std::int32_t weight, std::int64_t* gain) {
                   for (std::size_t i = 0; i < kInt32s; ++i) {
                       std::int64_t sum = -e.xlog2x[n_true[i]] - e.xlog2x[weight - n_true[i]];
                       for (std::size_t c = 0; c < t.n_classes; ++c) {
                           const std::int32_t count = t.rows[c][j + i];
                           sum += e.xlog2x[count] + e.xlog2x[t.totals[c] - count];
                       }
                       gain[i] = sum;
                   }
               });
}

void large_entropy_score_keys(const CountTable& t, std::int64_t whole, double unit, std::int32_t min_side,
                              std::size_t n_columns, ScoreKey* keys) {
    score_keys(t, whole, min_side, n_columns, keys,
               [&](std::size_t j, const std::int32_t* n_true, std::int32_t weight, std::int64_t* gain) {
                   for (std::size_t c = 0; c < t.n_classes; ++c) {
                       add_terms<1>(t.rows[c] + j, t.totals[c], unit, gain);
                   }
                   add_terms<-1>(n_true, weight, unit, gain);
               });
}

// Gini and sqrt are computed as Scorer::side does, operation by operation.
void gini_score_keys(const CountTable& t, std::int64_t whole, double unit, std::int32_t min_side, std::size_t n_columns,
                     ScoreKey* keys) {
    const auto side = [unit](const Reals& squares, const Reals& total, Integers& out) {
        Reals at_least_one;
        choose_term(total < 1.0, Reals{} + 1.0, total, at_least_one);
        round_to_integer<Reals, Integers>(squares / at_least_one * unit, out);
    };
    score_keys(t, whole, min_side, n_columns, keys,
               [&](std::size_t j, const std::int32_t* n_true, std::int32_t weight, std::int64_t* gain) {
                   for (std::size_t i = 0; i < kInt32s; i += kReals) {
                       Reals true_squares = {};
                       Reals false_squares = {};
                       for (std::size_t c = 0; c < t.n_classes; ++c) {
                           Reals n;
                           convert(t.rows[c] + j + i, n);
                           const Reals rest = static_cast<double>(t.totals[c]) - n;
                           true_squares += n * n;
                           false_squares += rest * rest;
                       }
                       Reals n;
                       convert(n_true + i, n);
                       Integers sides[2];
                       side(true_squares, n, sides[0]);
                       side(false_squares, static_cast<double>(weight) - n, sides[1]);
                       *reinterpret_cast<Integers*>(gain + i) = sides[0] + sides[1];
                   }
               });
}

void sqrt_score_keys(const CountTable& t, std::int64_t whole, double unit, std::int32_t min_side, std::size_t n_columns,
                     ScoreKey* keys) {
    const auto side = [unit](const Reals& n, const Reals& total, Integers& sum) {
        Reals root;
        square_root(n * (total - n), root);
        Integers term;
        round_to_integer<Reals, Integers>(root * unit, term);
        sum -= term;
    };
    score_keys(t, whole, min_side, n_columns, keys,
               [&](std::size_t j, const std::int32_t* n_true, std::int32_t weight, std::int64_t* gain) {
                   for (std::size_t i = 0; i < kInt32s; i += kReals) {
                       Reals true_weight;
                       convert(n_true + i, true_weight);
                       const Reals false_weight = static_cast<double>(weight) - true_weight;
                       Integers sum = {};
                       for (std::size_t c = 0; c < t.n_classes; ++c) {
                           Reals n;
                           convert(t.rows[c] + j + i, n);
                           side(n, true_weight, sum);
                           side(static_cast<double>(t.totals[c]) - n, false_weight, sum);
                       }
                       *reinterpret_cast<Integers*>(gain + i) = sum;
                   }
               });
}

[[maybe_unused]] Fingerprint xor_fingerprints_loop(const std::uint64_t* low, const std::uint64_t* high, WordList list) {
    Fingerprint sum;
    for (std::size_t i = 0; i < list.size; ++i) {
        const std::size_t first = std::size_t{list.words[i]} * 64;
        for (std::uint64_t rest = list.masks[i]; rest != 0; rest &= rest - 1) {
            const std::size_t row = first + static_cast<std::size_t>(lowest_bit(rest));
            sum.low ^= low[row];
            sum.high ^= high[row];
        }
    }
    return sum;
}

std::size_t count_greater(const ScoreKey* keys, const std::int64_t* copies, std::size_t n_columns, ScoreKey key) {
    std::int64_t n = 0;
    for (std::size_t j = 0; j < n_columns && copies == nullptr; ++j) {
        n += keys[j] > key ? 1 : 0;
    }
    for (std::size_t j = 0; j < n_columns && copies != nullptr; ++j) {
        n += keys[j] > key ? copies[j] : 0;
    }
    return static_cast<std::size_t>(n);
}

// n_greater[i] = how many of the keys are greater than keys[i], i < n.
inline void rank_keys(const ScoreKey* keys, std::size_t n, std::int64_t* n_greater) {
    for (std::size_t i = 0; i < n; ++i) {
        n_greater[i] = 0;
    }
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) {
            n_greater[i] += keys[j] > keys[i] ? 1 : 0;
        }
    }
}

void sort_keys(ScoreKey* keys, std::size_t n) {
    alignas(64) ScoreKey unsorted[kMostSorted];
    alignas(64) std::int64_t n_greater[kMostSorted];
    for (std::size_t i = 0; i < n; ++i) {
        unsorted[i] = keys[i];
    }
    rank_keys(unsorted, n, n_greater);
    for (std::size_t i = 0; i < n; ++i) {
        keys[n_greater[i]] = unsorted[i];
    }
}

// The best key of each of a few groups of columns bounds the k-th of all keys from below, and most keys are lower.
// Neighbours, which are often of one feature and score alike, are in different groups.
std::size_t likely_keys(const ScoreKey* keys, std::size_t n_columns, std::size_t k, ScoreKey* out) {
    const std::size_t n_groups = 2 * k;
    ScoreKey lowest = 0;
    if (n_groups <= kMostSorted && n_columns >= 2 * n_groups) {
        alignas(64) ScoreKey best[kMostSorted];
        alignas(64) std::int64_t n_greater[kMostSorted];
        for (std::size_t i = 0; i < n_groups; ++i) {
            best[i] = keys[i];
        }
        for (std::size_t begin = n_groups; begin < n_columns; begin += n_groups) {
            const std::size_t size = n_columns - begin < n_groups ? n_columns - begin : n_groups;
            for (std::size_t i = 0; i < size; ++i) {
                best[i] = best[i] > keys[begin + i] ? best[i] : keys[begin + i];
            }
        }
        rank_keys(best, n_groups, n_greater);
        for (std::size_t i = 0; i < n_groups; ++i) {
            const ScoreKey bound = n_greater[i] + 1 >= static_cast<std::int64_t>(k) ? best[i] : 0;
            lowest = lowest > bound ? lowest : bound;
        }
    }
    std::size_t n = 0;
    std::size_t j = 0;
#if defined(__AVX512F__)
    for (; j + 8 <= n_columns; j += 8) {
        const __m512i eight = _mm512_loadu_si512(keys + j);
        const __mmask8 kept = _mm512_cmpge_epi64_mask(eight, _mm512_set1_epi64(lowest));
        _mm512_storeu_si512(out + n, _mm512_maskz_compress_epi64(kept, eight));
        n += static_cast<std::size_t>(count_bits(kept));
    }
#endif
    for (; j < n_columns; ++j) {
        out[n] = keys[j];
        n += keys[j] >= lowest ? 1 : 0;
    }
    return n;
}

std::size_t count_rows(WordList list, const std::uint64_t* among) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < list.size; ++i) {
        const std::uint64_t mask = among == nullptr ? list.masks[i] : list.masks[i] & among[list.words[i]];
        n += static_cast<std::size_t>(count_bits(mask));
    }
    return n;
}

// Hacker's Delight 7-4. The six move masks depend on the mask alone, so every column needs only six masked shifts. In
// vector lanes that is as fast as one scalar pext per column, and it needs no BMI2.
void compress(const std::uint64_t* in, std::uint64_t mask, unsigned shift, std::size_t n_columns,
              std::uint64_t* out_low, std::uint64_t* out_high) {
    std::uint64_t moves[6];
    std::uint64_t rest = mask;
    std::uint64_t zeros_below = ~mask << 1;
    for (int i = 0; i < 6; ++i) {
        std::uint64_t parity = zeros_below;
        for (int step = 1; step < 64; step *= 2) {
            parity ^= parity << step;
        }
        moves[i] = parity & rest;
        rest = (rest ^ moves[i]) | (moves[i] >> (1U << i));
        zeros_below &= ~parity;
    }
    const bool overflows = shift + static_cast<unsigned>(count_bits(mask)) > 64;
    for (std::size_t j = 0; j < n_columns; ++j) {
        std::uint64_t x = in[j] & mask;
        for (int i = 0; i < 6; ++i) {
            const std::uint64_t moved = x & moves[i];
            x = (x ^ moved) | (moved >> (1U << i));
        }
        out_low[j] |= x << shift;
        if (overflows) {
            out_high[j] |= x >> (64 - shift);
        }
    }
}

[[maybe_unused]] void pack_flags_loop(const std::uint8_t* flags, std::size_t n, std::uint64_t* out) {
    for (std::size_t begin = 0; begin < n; begin += 64) {
        std::uint64_t word = 0;
        const std::size_t size = n - begin < 64 ? n - begin : 64;
        for (std::size_t j = 0; j < size; ++j) {
            word |= std::uint64_t{flags[begin + j] != 0} << j;
        }
        out[begin / 64] = word;
    }
}

// Swap the bits of `mask` in the rows i, i without kDistance, with those kDistance further up in the rows i +
// kDistance.
template <std::size_t kDistance>
void swap_quarters(Words* v, std::uint64_t mask) {
    for (std::size_t i = 0; i < 64 / kWords; ++i) {
        if constexpr (kDistance < kWords) {
            swap_lanes<kDistance>(v[i], mask);
        } else if ((i & (kDistance / kWords)) == 0) {
            Words& below = v[i + kDistance / kWords];
            const Words t = ((v[i] >> kDistance) ^ below) & mask;
            v[i] ^= t << kDistance;
            below ^= t;
        }
    }
}

// Hacker's Delight 7-3: swap quarters of smaller and smaller squares.
void transpose(std::uint64_t* block) {
    auto* v = reinterpret_cast<Words*>(block);
    swap_quarters<32>(v, 0x00000000ffffffffU);
    swap_quarters<16>(v, 0x0000ffff0000ffffU);
    swap_quarters<8>(v, 0x00ff00ff00ff00ffU);
    swap_quarters<4>(v, 0x0f0f0f0f0f0f0f0fU);
    swap_quarters<2>(v, 0x3333333333333333U);
    swap_quarters<1>(v, 0x5555555555555555U);
}

// The state of SipHash, one or several of them.
template <class Word>
struct Sip {
    Word v0, v1, v2, v3;

    Sip() = default;
    Sip(const Word& low, const Word& high)
        : v0(low ^ 0x736f6d6570736575U),
          v1(high ^ (0x646f72616e646f6dU ^ 0xeeU)),
          v2(low ^ 0x6c7967656e657261U),
          v3(high ^ 0x7465646279746573U) {}

    template <int n>
    static void rotate(Word& x) {
        x = (x << n) | (x >> (64 - n));
    }
    template <int n>
    static void add_rotate(Word& sum, Word& x) {
        sum += x;
        rotate<n>(x);
        x ^= sum;
    }
    void round() {
        add_rotate<13>(v0, v1);
        rotate<32>(v0);
        add_rotate<16>(v2, v3);
        add_rotate<21>(v0, v3);
        add_rotate<17>(v2, v1);
        rotate<32>(v2);
    }
    void add(const Word& word) {
        v3 ^= word;
        round();
        round();
        v0 ^= word;
    }
};

// SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012), the start being its key. Long inputs go through eight
// states side by side, and these states through a ninth.
Fingerprint hash_words(Fingerprint start, const std::uint64_t* words, std::size_t n) {
    Sip<std::uint64_t> sip(start.low, start.high);
    std::size_t i = 0;
    if (n >= 64) {
        constexpr std::size_t kParts = 8 / kWords;
        Sip<Words> eight[kParts];
        for (std::size_t part = 0; part < kParts; ++part) {
            std::uint64_t low[kWords];
            for (std::size_t lane = 0; lane < kWords; ++lane) {
                low[lane] = start.low ^ (part * kWords + lane + 1);
            }
            Words lows;
            std::memcpy(&lows, low, sizeof(lows));
            eight[part] = Sip<Words>(lows, Words{} ^ start.high);
        }
        for (; i + 8 <= n; i += 8) {
            for (std::size_t part = 0; part < kParts; ++part) {
                Words next;
                std::memcpy(&next, words + i + part * kWords, sizeof(next));
                eight[part].add(next);
            }
        }
        for (const Sip<Words>& part : eight) {
            std::uint64_t lanes[4][kWords];
            std::memcpy(lanes, &part, sizeof(lanes));
            for (std::size_t lane = 0; lane < kWords; ++lane) {
                for (const auto& v : lanes) {
                    sip.add(v[lane]);
                }
            }
        }
    }
    for (; i < n; ++i) {
        sip.add(words[i]);
    }
    sip.add((8 * n) << 56);
    sip.v2 ^= 0xeeU;
    for (int r = 0; r < 4; ++r) {
        sip.round();
    }
    const std::uint64_t low = sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
    sip.v1 ^= 0xddU;
    for (int r = 0; r < 4; ++r) {
        sip.round();
    }
    return {low, sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3};
}

void fill_fingerprints(Fingerprint salt, std::size_t n, std::uint64_t* low, std::uint64_t* high) {
    for (std::size_t i = 0; i < n; ++i) {
        const Fingerprint fingerprint = salted_fingerprint(salt, i);
        low[i] = fingerprint.low;
        high[i] = fingerprint.high;
    }
}

void fill_xlog2x(double unit, std::size_t n, std::int64_t* out) {
    alignas(64) std::int32_t next[kReals];
    for (std::size_t lane = 0; lane < kReals; ++lane) {
        next[lane] = static_cast<std::int32_t>(lane);
    }
    std::size_t i = 0;
    for (; i + kReals <= n; i += kReals) {
        Reals x;
        Integers terms;
        convert(next, x);
        xlog2x_of(x, unit, terms);
        std::memcpy(out + i, &terms, sizeof(terms));
        for (std::int32_t& number : next) {
            number += static_cast<std::int32_t>(kReals);
        }
    }
    for (; i < n; ++i) {
        out[i] = xlog2x_of(static_cast<double>(i), unit);
    }
}

}  // namespace
}  // namespace topk
