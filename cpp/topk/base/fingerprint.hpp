// Pseudorandom numbers that are the same on every machine, and fingerprints: 128-bit identities of sets.
//
// A set's fingerprint is the XOR of random fingerprints of its members, so that the fingerprint of a difference is the
// XOR of two fingerprints. Members' fingerprints depend on a salt, a hash of all the data: with public ones, linear
// algebra finds sets that share a fingerprint, and a table can be built around them. With a salt the table would have
// to contain what its own hash leads to, so two different sets share a fingerprint with probability 2^-128.
#pragma once

#include <cstdint>

namespace topk {

// `static`: files compiled for different instruction sets must not share one copy; see kernels/common.hpp.
static inline std::uint64_t splitmix64(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

struct Fingerprint {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
    friend Fingerprint operator^(const Fingerprint& a, const Fingerprint& b) {
        return {a.low ^ b.low, a.high ^ b.high};
    }
};

// Return the fingerprint of member i. The salt enters twice, so that no difference of two members is known without it.
static inline Fingerprint salted_fingerprint(const Fingerprint& salt, std::uint64_t i) {
    return {splitmix64(splitmix64(2 * i + salt.low) ^ salt.high),
            splitmix64(splitmix64(2 * i + 1 + salt.low) ^ salt.high)};
}

}  // namespace topk
