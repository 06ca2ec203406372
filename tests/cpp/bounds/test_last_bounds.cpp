// The table may forget, but what it tells is true.
#include <initializer_list>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/bounds/last_bounds.hpp"

using namespace topk;

namespace {

std::int64_t truth(const Fingerprint& subset) { return static_cast<std::int64_t>(subset.low % 1000) + 1; }

void test_true(Random& random, std::size_t bytes, std::size_t n) {
    LastBounds bounds(bytes);
    CHECK(bounds.is_used() == (bytes >= 16));
    std::vector<Fingerprint> subsets;
    std::size_t n_found = 0;
    for (std::size_t i = 0; i < n && bounds.is_used(); ++i) {
        subsets.push_back({random.bits(), random.bits()});
        bounds.expect(subsets.back());
        CHECK(bounds.find(subsets.back()) == 0);
        bounds.store(subsets.back(), truth(subsets.back()));
        CHECK(bounds.find(subsets.back()) == truth(subsets.back()));
        const Fingerprint& earlier = subsets[random.below(subsets.size())];
        const std::int64_t found = bounds.find(earlier);
        CHECK(found == 0 || found == truth(earlier));
        n_found += found > 0 ? 1U : 0U;
    }
    CHECK(bytes < 1 << 18 || 4 * n_found > n, n_found << " of " << n);
}

// A bound that takes more than 32 bits is lowered.
void test_large() {
    LastBounds bounds(1000);
    const Fingerprint subset = {1, 2};
    bounds.store(subset, INT64_MAX);
    CHECK(bounds.find(subset) == UINT32_MAX);
    bounds.store(subset, 5);
    CHECK(bounds.find(subset) == 5 && bounds.find({1, 3}) == 0 && bounds.find({2, 2}) == 0);
}

}  // namespace

int main() {
    Random random(1);
    using Sizes = std::initializer_list<std::size_t>;
    for (const std::size_t bytes : Sizes{0, 15, 16, 1000, 1 << 18, 1 << 30}) {
        for (const std::size_t n : Sizes{1, 100, 10'000}) {
            test_true(random, bytes, n);
        }
    }
    test_large();
    return check::report();
}
