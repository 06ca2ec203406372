// The cache may forget, but its entries are true and its memory stays within the budget.
#include <set>
#include <thread>
#include <vector>

#include "support/check.hpp"
#include "support/problems.hpp"
#include "topk/bounds/subset_cache.hpp"

using namespace topk;

namespace {

using Sizes = std::initializer_list<std::size_t>;

constexpr int kMaxLevels = 6;

// An arbitrary truth about a subset with `levels` left.
CacheEntry truth(const Fingerprint& fingerprint, int levels) {
    const auto cost = static_cast<std::int64_t>(fingerprint.low % 1000) + 10 * levels;
    return {cost, static_cast<std::int32_t>(fingerprint.high % 50) - 1, true};
}

CacheEntry random_bound(Random& random, const Fingerprint& fingerprint, int levels) {
    return {truth(fingerprint, levels).cost - static_cast<std::int64_t>(random.below(5)), -1, false};
}

void check_true(const CacheEntry& entry, const Fingerprint& fingerprint, int levels) {
    const CacheEntry expected = truth(fingerprint, levels);
    if (entry.solved) {
        CHECK(entry.cost == expected.cost && entry.column == expected.column);
    } else {
        CHECK(entry.cost <= expected.cost && entry.cost > expected.cost - 5);
    }
}

std::vector<Fingerprint> random_fingerprints(Random& random, std::size_t n) {
    std::vector<Fingerprint> fingerprints;
    for (std::size_t i = 0; i < n; ++i) {
        fingerprints.push_back({random.bits(), random.bits()});
    }
    return fingerprints;
}

// Store and find at random. What was just stored is found, unless the budget has no room for a single bucket.
void use(SubsetCache& cache, const std::vector<Fingerprint>& fingerprints, std::uint64_t seed, int n, bool alone) {
    Random random(seed);
    for (int i = 0; i < n; ++i) {
        const Fingerprint& fingerprint = fingerprints[random.below(fingerprints.size())];
        const int levels = static_cast<int>(random.between(2, kMaxLevels));
        const CacheEntry stored =
            random.chance(0.5) ? truth(fingerprint, levels) : random_bound(random, fingerprint, levels);
        cache.store(fingerprint, levels, stored);
        CacheEntry found;
        if (cache.find(fingerprint, levels, found)) {
            check_true(found, fingerprint, levels);
            if (alone) {
                CHECK(found.solved || (!stored.solved && found.cost >= stored.cost));
            }
        } else if (alone) {
            CHECK(cache.bytes() < 64 * 128);
        }
        const Fingerprint& other = fingerprints[random.below(fingerprints.size())];
        if (cache.find(other, levels, found)) {
            check_true(found, other, levels);
        }
    }
}

void test_budget(std::size_t budget, bool shared) {
    Random random(budget);
    SubsetCache cache(budget, shared);
    const std::vector<Fingerprint> fingerprints = random_fingerprints(random, 3000);
    for (std::uint64_t round = 0; round < 10; ++round) {
        use(cache, fingerprints, round, 1000, true);
        CHECK(cache.bytes() <= budget, cache.bytes() << " bytes of " << budget);
    }
}

// A cache that is too small uses nearly all of its budget, whatever that is.
void test_budget_is_used() {
    Random random(3);
    const std::vector<Fingerprint> fingerprints = random_fingerprints(random, 100'000);
    for (const std::size_t budget : {std::size_t{1} << 20, std::size_t{1'200'000}, std::size_t{900'000}}) {
        SubsetCache cache(budget, false);
        for (const Fingerprint& fingerprint : fingerprints) {
            cache.store(fingerprint, 3, truth(fingerprint, 3));
            CHECK(cache.bytes() <= budget);
        }
        CHECK(cache.bytes() > budget * 9 / 10, cache.bytes() << " bytes of " << budget);
    }
}

void test_keeps_what_it_has_room_for() {
    Random random(1);
    SubsetCache cache(std::size_t{1} << 30, false);
    const std::vector<Fingerprint> fingerprints = random_fingerprints(random, 20'000);
    std::size_t last_bytes = 0;
    int growths = 0;
    for (const Fingerprint& fingerprint : fingerprints) {
        cache.store(fingerprint, 3, truth(fingerprint, 3));
        growths += cache.bytes() > last_bytes ? 1 : 0;
        last_bytes = cache.bytes();
    }
    CHECK(growths > 64, growths);
    CHECK(last_bytes < 20'000 * 32 * 8, "32 bytes per entry and a table at least an eighth full; " << last_bytes);
    std::size_t n_found = 0;
    CacheEntry entry;
    for (const Fingerprint& fingerprint : fingerprints) {
        n_found += cache.find(fingerprint, 3, entry) ? 1U : 0U;
        CHECK(!cache.find(fingerprint, 4, entry), "levels are part of the fingerprint");
    }
    CHECK(n_found > fingerprints.size() * 9 / 10, n_found << " of " << fingerprints.size());
    Monitor monitor({});
    Ticker ticker(monitor);
    cache.clear(ticker);
    monitor.set_time_limit(0);
    const auto clear_often = [&] {
        for (int i = 0; i < 1000; ++i) {
            cache.clear(ticker);
        }
    };
    CHECK_THROWS(Stopped, clear_often());
    for (const Fingerprint& fingerprint : fingerprints) {
        CHECK(!cache.find(fingerprint, 3, entry));
    }
    for (std::size_t i = 0; i < fingerprints.size() / 2; ++i) {
        cache.store(fingerprints[i], 3, truth(fingerprints[i], 3));
        CHECK(cache.find(fingerprints[i], 3, entry));
    }
    CHECK(cache.bytes() == last_bytes, "half as much as before fits into the same tables");
}

// Fingerprints that differ in a single bit are different.
void test_similar_keys() {
    SubsetCache cache(1 << 20, false);
    const Fingerprint base = {0x0123456789abcdef, 0xfedcba9876543210};
    CacheEntry entry;
    for (int levels = 2; levels < 20; ++levels) {
        cache.store(base, levels, truth(base, levels));
        for (int bit = 0; bit < 64; ++bit) {
            const std::uint64_t one = std::uint64_t{1} << bit;
            CHECK(!cache.find(base ^ Fingerprint{one, 0}, levels, entry));
            CHECK(!cache.find(base ^ Fingerprint{0, one}, levels, entry));
        }
        CHECK(!cache.find(base, levels + 1, entry));
    }
}

void test_knowledge_only_grows() {
    SubsetCache cache(1 << 20, false);
    const Fingerprint fingerprint = {17, 4};
    CacheEntry entry;
    const auto cost_after = [&](const CacheEntry& stored) {
        cache.store(fingerprint, 2, stored);
        CHECK(cache.find(fingerprint, 2, entry));
        return entry.cost;
    };
    CHECK(cost_after({5, -1, false}) == 5);
    CHECK(cost_after({3, -1, false}) == 5);
    CHECK(cost_after({8, -1, false}) == 8 && !entry.solved);
    CHECK(cost_after({9, 7, true}) == 9 && entry.solved && entry.column == 7);
    CHECK(cost_after({9, -1, false}) == 9 && entry.solved && entry.column == 7);
}

void test_deep_entries_stay() {
    SubsetCache cache(40'000, false);  // 8 entries in each of 64 shards
    Random random(5);
    const std::vector<Fingerprint> fingerprints = random_fingerprints(random, 5000);
    cache.store(fingerprints[0], kMaxLevels, truth(fingerprints[0], kMaxLevels));
    for (const Fingerprint& fingerprint : fingerprints) {
        cache.store(fingerprint, 2, truth(fingerprint, 2));
    }
    CacheEntry entry;
    CHECK(cache.find(fingerprints[0], kMaxLevels, entry), "entries with fewer levels are forgotten first");
}

void test_threads(std::size_t budget) {
    Random random(9);
    SubsetCache cache(budget, true);
    const std::vector<Fingerprint> fingerprints = random_fingerprints(random, 500);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] { use(cache, fingerprints, t, 5000, false); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK(cache.bytes() <= budget);
}

}  // namespace

int main() {
    for (const std::size_t budget : Sizes{0, 1, 300, 8191, 8192, 10'000, 40'000, 1'000'000}) {
        test_budget(budget, false);
        test_budget(budget, true);
    }
    test_budget_is_used();
    test_keeps_what_it_has_room_for();
    test_similar_keys();
    test_knowledge_only_grows();
    test_deep_entries_stay();
    for (const std::size_t budget : Sizes{0, 300, 10'000, 40'000, 1'000'000}) {
        test_threads(budget);
    }
    return check::report();
}
