// A column's key on each side is a hash of the rows on that side: equal and opposite columns meet by themselves.
#include "topk/search/literal_fingerprints.hpp"

#include "topk/base/mix.hpp"

namespace topk {

LiteralKeys::LiteralKeys(const BitMatrix& matrix, const Subset& all, std::size_t n_columns, Ticker& ticker)
    : keys_(2 * n_columns) {
    for (std::size_t i = 0; i < all.words.size(); ++i) {
        ticker.tick(8 * n_columns);
        const std::uint64_t* word = matrix.word(all.words[i]);
        const std::uint64_t salt = mix(all.words[i]);
        for (std::size_t j = 0; j < n_columns; ++j) {
            for (int side = 0; side < 2; ++side) {
                const std::uint64_t rows = all.masks[i] & (side == 1 ? word[j] : ~word[j]);
                const std::uint64_t hash = mix(rows ^ salt);
                Key& key = keys_[2 * j + static_cast<std::size_t>(side)];
                key = {key.low + hash, key.high + mix(hash ^ ~salt)};
            }
        }
    }
    for (Key& key : keys_) {
        key = {mix(key.low), mix(key.high ^ 1)};  // sums of sums must not meet in the XOR of a path
    }
}

}  // namespace topk
