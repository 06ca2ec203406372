// A literal's fingerprint is a hash of its rows, so that equal and complementary columns agree without being compared.
#include "topk/bounds/literal_fingerprints.hpp"

namespace topk {

LiteralFingerprints::LiteralFingerprints(const BitMatrix& matrix, const Subset& all, std::size_t n_columns,
                                         Ticker& ticker)
    : fingerprints_(2 * n_columns) {
    for (std::size_t i = 0; i < all.words.size(); ++i) {
        ticker.tick(8 * n_columns);
        const std::uint64_t* word = matrix.word(all.words[i]);
        const std::uint64_t salt = splitmix64(all.words[i]);
        for (std::size_t j = 0; j < n_columns; ++j) {
            for (int side = 0; side < 2; ++side) {
                const std::uint64_t rows = all.masks[i] & (side == 1 ? word[j] : ~word[j]);
                const std::uint64_t hash = splitmix64(rows ^ salt);
                Fingerprint& sum = fingerprints_[2 * j + static_cast<std::size_t>(side)];
                sum = {sum.low + hash, sum.high + splitmix64(hash ^ ~salt)};
            }
        }
    }
    // The sums are hashed once more: unhashed, sums over words could cancel in the XOR over a path.
    for (Fingerprint& fingerprint : fingerprints_) {
        fingerprint = {splitmix64(fingerprint.low), splitmix64(fingerprint.high ^ 1)};
    }
}

}  // namespace topk
