// A literal's fingerprint is a hash of its rows, so that equal and complementary columns agree without being compared.
#include "topk/bounds/literal_fingerprints.hpp"

namespace topk {

// The side of the first row is hashed; the other one follows from it.
LiteralFingerprints::LiteralFingerprints(const BitMatrix& matrix, const Subset& all, std::size_t n_columns,
                                         const Fingerprint& salt, Ticker& ticker)
    : fingerprints_(2 * n_columns) {
    const std::uint64_t* first = matrix.word(0);
    for (std::size_t i = 0; i < all.words.size(); ++i) {
        ticker.tick(8 * n_columns);
        const std::uint64_t* word = matrix.word(all.words[i]);
        const Fingerprint of_word = salted_fingerprint(salt, all.words[i]);
        for (std::size_t j = 0; j < n_columns; ++j) {
            const std::uint64_t rows = all.masks[i] & (word[j] ^ ((first[j] & 1) - 1));
            const std::uint64_t hash = splitmix64(rows ^ of_word.low);
            Fingerprint& sum = fingerprints_[2 * j];
            sum = {sum.low + hash, sum.high + splitmix64(hash ^ of_word.high)};
        }
    }
    // The sums are hashed once more: unhashed, sums over words could cancel in the XOR over a path.
    for (std::size_t j = 0; j < n_columns; ++j) {
        const Fingerprint sum = fingerprints_[2 * j];
        const std::size_t side = first[j] & 1;  // of the first row
        fingerprints_[2 * j + side] = {splitmix64(sum.low ^ salt.low), splitmix64(sum.high ^ salt.high)};
        fingerprints_[2 * j + 1 - side] = {splitmix64(sum.low ^ ~salt.low), splitmix64(sum.high ^ ~salt.high)};
    }
}

}  // namespace topk
