// The kernels that count and move bits: all kernels of this machine, and the scalar one as other compilers get it,
// against naive loops.
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "support/aligned.hpp"
#include "support/check.hpp"
#include "support/plain_kernels.hpp"
#include "support/problems.hpp"
#include "topk/base/fingerprint.hpp"
#include "topk/kernels/kernels.hpp"

using namespace topk;

namespace {

Aligned<std::uint64_t> random_words(Random& random, std::size_t n) {
    Aligned<std::uint64_t> words(n);
    const std::size_t kind = random.below(4);
    for (std::size_t i = 0; i < n; ++i) {
        words[i] = kind == 0 ? ~std::uint64_t{0} : kind == 1 ? random.bits() & random.bits() : random.bits();
    }
    return words;
}

// A list of `size` out of `n_words` words, ascending, with masks of one kind: full, single rows or random.
struct RandomList {
    RandomList(Random& random, std::size_t n_words, std::size_t size) {
        const std::size_t kind = random.below(3);
        for (std::size_t w = 0; w < n_words && words.size() < size; ++w) {
            if (random.below(n_words - w) < size - words.size()) {
                const std::uint64_t mask = kind == 1 ? std::uint64_t{1} << random.below(64) : random.bits() | 1;
                words.push_back(static_cast<std::uint32_t>(w));
                masks.push_back(kind == 0 ? ~std::uint64_t{0} : mask);
            }
        }
    }
    WordList list() const { return {words.data(), masks.data(), masks.size()}; }

    std::vector<std::uint32_t> words;
    std::vector<std::uint64_t> masks;
};

using Sizes = std::initializer_list<std::size_t>;

constexpr std::size_t kWidest = 400;

void test_count(const Kernels& kernels, Random& random, std::size_t size, std::size_t n_columns) {
    const std::size_t n_words = size + random.below(20) + 1;
    const std::size_t stride = n_columns + kColumnPadding * random.below(3);
    Aligned<std::uint64_t> bits = random_words(random, n_words * stride);
    const RandomList random_list(random, n_words, size);
    const WordList list = random_list.list();
    Aligned<std::int32_t> counts(n_columns);
    kernels.count(bits.data(), stride, list, n_columns, counts.data());
    std::vector<std::int32_t> expected(n_columns, 0);
    for (std::size_t i = 0; i < list.size; ++i) {
        for (std::size_t j = 0; j < n_columns; ++j) {
            expected[j] += std::popcount(list.masks[i] & bits[list.words[i] * stride + j]);
        }
    }
    CHECK(counts.copy() == expected, kernels.name << ": " << size << " words, " << n_columns << " columns");
}

void test_rows_of_list(const Kernels& kernels, Random& random, std::size_t size) {
    const std::size_t n_words = size + random.below(20) + 1;
    Aligned<std::uint64_t> low = random_words(random, 64 * n_words);
    Aligned<std::uint64_t> high = random_words(random, 64 * n_words);
    Aligned<std::uint64_t> among = random_words(random, n_words);
    const RandomList random_list(random, n_words, size);
    const WordList list = random_list.list();
    Fingerprint expected;
    std::size_t n_rows = 0;
    std::size_t n_among = 0;
    for (std::size_t i = 0; i < list.size; ++i) {
        for (std::size_t r = 0; r < 64; ++r) {
            if ((list.masks[i] >> r & 1) != 0) {
                const std::size_t row = std::size_t{64} * list.words[i] + r;
                expected = expected ^ Fingerprint{low[row], high[row]};
                n_rows += 1;
                n_among += among[list.words[i]] >> r & 1;
            }
        }
    }
    CHECK(kernels.xor_fingerprints(low.data(), high.data(), list) == expected,
          kernels.name << ": " << size << " words");
    CHECK(kernels.count_rows(list, nullptr) == n_rows, kernels.name << ": " << size << " words");
    CHECK(kernels.count_rows(list, among.data()) == n_among, kernels.name << ": " << size << " words");
}

void test_compress(const Kernels& kernels, Random& random, std::uint64_t mask, unsigned shift, std::size_t n_columns) {
    Aligned<std::uint64_t> in = random_words(random, n_columns);
    Aligned<std::uint64_t> low(n_columns);
    Aligned<std::uint64_t> high(n_columns);
    for (std::size_t j = 0; j < n_columns; ++j) {
        low[j] = random.bits() & ((std::uint64_t{1} << shift) - 1);  // rows that are stored already
    }
    std::vector<std::uint64_t> expected_low = low.copy();
    std::vector<std::uint64_t> expected_high(n_columns, 0);
    for (std::size_t j = 0; j < n_columns; ++j) {
        unsigned position = shift;
        for (unsigned r = 0; r < 64; ++r) {
            if ((mask >> r & 1) != 0) {
                (position < 64 ? expected_low : expected_high)[j] |= (in[j] >> r & 1) << position % 64;
                ++position;
            }
        }
    }
    // If nothing overflows there may be no next word.
    const bool overflows = shift + static_cast<unsigned>(std::popcount(mask)) > 64;
    kernels.compress(in.data(), mask, shift, n_columns, low.data(), overflows ? high.data() : nullptr);
    const auto shape = std::to_string(n_columns) + " columns, mask " + std::to_string(mask);
    CHECK(low.copy() == expected_low, kernels.name << ": " << shape << ", shift " << shift);
    CHECK(high.copy() == expected_high, kernels.name << ": " << shape << ", shift " << shift);
}

void test_compress_shapes(const Kernels& kernels, Random& random) {
    const std::uint64_t all = ~std::uint64_t{0};
    for (unsigned shift = 0; shift < 64; ++shift) {
        const std::uint64_t sparse = random.bits() & random.bits() & random.bits();
        for (const std::uint64_t mask :
             {all, all >> shift, all << shift, random.bits(), sparse, std::uint64_t{1} << shift}) {
            test_compress(kernels, random, mask, shift, 1);
            test_compress(kernels, random, mask, shift, kColumnPadding * random.between(1, kWidest / kColumnPadding));
        }
    }
}

// Flags start at any address and end where their memory ends; the word after the last one is not written.
void test_pack_flags(const Kernels& kernels, Random& random, std::size_t n) {
    const std::size_t offset = random.below(64);
    const double density = random.pick({0.0, 0.1, 0.5, 1.0});
    std::vector<std::uint8_t> flags(offset + n);
    for (std::uint8_t& flag : flags) {
        flag = random.chance(density) ? random.pick<std::uint8_t>({1, 1, 2, 128, 255}) : 0;
    }
    const std::size_t n_words = (n + 63) / 64;
    const std::uint64_t guard = random.bits();
    std::vector<std::uint64_t> out(n_words + 1, guard);
    kernels.pack_flags(flags.data() + offset, n, out.data());
    std::vector<std::uint64_t> expected(n_words, 0);
    for (std::size_t j = 0; j < n; ++j) {
        expected[j / 64] |= std::uint64_t{flags[offset + j] != 0} << (j % 64);
    }
    expected.push_back(guard);
    CHECK(out == expected, kernels.name << ": " << n << " flags from " << offset << " on");
}

void test_transpose(const Kernels& kernels, Random& random) {
    Aligned<std::uint64_t> block = random_words(random, 64);
    if (random.chance(0.3)) {  // a single bit: it cannot be hidden by others
        const std::size_t at = random.below(64);
        std::fill_n(block.data(), 64, 0);
        block[at] = std::uint64_t{1} << random.below(64);
    }
    std::vector<std::uint64_t> expected(64, 0);
    for (std::size_t i = 0; i < 64; ++i) {
        for (std::size_t j = 0; j < 64; ++j) {
            expected[j] |= (block[i] >> j & 1) << i;
        }
    }
    kernels.transpose(block.data());
    CHECK(block.copy() == expected, kernels.name);
}

void test_fill_fingerprints(const Kernels& kernels, std::size_t n) {
    Aligned<std::uint64_t> low(n + 64);
    Aligned<std::uint64_t> high(n + 64);
    const Fingerprint salt = {n, ~n};
    kernels.fill_fingerprints(salt, n, low.data(), high.data());
    std::vector<std::uint64_t> expected_low(n + 64, 0);
    std::vector<std::uint64_t> expected_high(n + 64, 0);
    for (std::size_t i = 0; i < n; ++i) {
        expected_low[i] = salted_fingerprint(salt, i).low;
        expected_high[i] = salted_fingerprint(salt, i).high;
    }
    CHECK(low.copy() == expected_low, kernels.name << ": " << n << " rows");
    CHECK(high.copy() == expected_high, kernels.name << ": " << n << " rows");
}

// Every kernel gives the same hash, from any address. Every word, its place, the number of words and the start matter.
void test_hash_words(const Kernels& kernels, Random& random, std::size_t n) {
    std::vector<std::uint64_t> words(n + 1);
    std::generate(words.begin(), words.end(), [&] { return random.bits(); });
    const Fingerprint start = {random.bits(), random.bits()};
    const Fingerprint hash = kernels.hash_words(start, words.data() + 1, n);
    CHECK(hash == available_kernels().front()->hash_words(start, words.data() + 1, n), kernels.name << ' ' << n);
    CHECK(hash != kernels.hash_words({start.low, start.high ^ 1}, words.data() + 1, n), kernels.name << ' ' << n);
    CHECK(hash != kernels.hash_words({start.low ^ 1, start.high}, words.data() + 1, n), kernels.name << ' ' << n);
    CHECK(hash != kernels.hash_words(start, words.data(), n + 1), kernels.name << ' ' << n);
    if (n > 0) {
        words[1 + random.below(n)] ^= std::uint64_t{1} << random.below(64);
        const Fingerprint other = kernels.hash_words(start, words.data() + 1, n);
        CHECK(other.low != hash.low && other.high != hash.high, kernels.name << ' ' << n);
    }
}

void test_find_kernels() {
    CHECK(std::string(available_kernels().front()->name) == "scalar");
    CHECK(&find_kernels("") == available_kernels().back());
    for (const Kernels* kernels : available_kernels()) {
        CHECK(&find_kernels(kernels->name) == kernels);
    }
    CHECK_THROWS(std::invalid_argument, find_kernels("abacus"));
}

void test_kernels(const Kernels& kernels) {
    Random random(1);
    for (std::size_t size = 0; size <= 200; ++size) {
        test_rows_of_list(kernels, random, size);
        test_count(kernels, random, size, kColumnPadding * random.between(1, kWidest / kColumnPadding));
    }
    for (std::size_t n_columns = kColumnPadding; n_columns <= kWidest; n_columns += kColumnPadding) {
        // AVX2 sums bytes over 31 words, and takes more than 512 KiB in blocks.
        for (const std::size_t size : Sizes{0, 1, 30, 31, 32, 33, 61, 62, 63, 64, 93, 700}) {
            test_count(kernels, random, size, n_columns);
        }
    }
    test_compress_shapes(kernels, random);
    for (std::size_t n = 0; n <= 300; ++n) {
        test_pack_flags(kernels, random, n);
        test_transpose(kernels, random);
    }
    for (const std::size_t n : Sizes{0, 64, 128, 192, 64'000}) {
        test_fill_fingerprints(kernels, n);
    }
    for (const std::size_t n : Sizes{0, 1, 2, 7, 8, 9, 63, 64, 65, 71, 72, 73, 100, 1000, 4096}) {
        test_hash_words(kernels, random, n);
    }
    // The first test vector of SipHash's authors: no bytes, the key 0, 1, ..., 15.
    CHECK((kernels.hash_words({0x0706050403020100U, 0x0f0e0d0c0b0a0908U}, nullptr, 0) ==
           Fingerprint{0xe6a825ba047f81a3U, 0x930255c71472f66dU}),
          kernels.name);
}

}  // namespace

int main() {
    test_find_kernels();
    for (const Kernels* kernels : available_kernels()) {
        test_kernels(*kernels);
    }
    test_kernels(plain_kernels());
    return check::report();
}
