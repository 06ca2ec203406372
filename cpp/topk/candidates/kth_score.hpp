// The k-th highest of the scores seen so far: what scores lower is not among the k best.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace topk {

class KthScore {
  public:
    // k = SIZE_MAX: there is no limit.
    void begin(std::size_t k) {
        k_ = k;
        scores_.clear();
    }
    // There are n more columns with this score.
    void add(std::int64_t score, std::size_t n) {
        for (; n > 0 && k_ != SIZE_MAX && (scores_.size() < k_ || score > scores_.front()); --n) {
            if (scores_.size() == k_) {
                std::pop_heap(scores_.begin(), scores_.end(), std::greater<>());
                scores_.pop_back();
            }
            scores_.push_back(score);
            std::push_heap(scores_.begin(), scores_.end(), std::greater<>());
        }
    }
    // Return the k-th highest score; 0 if there are fewer.
    std::int64_t limit() const { return !scores_.empty() && scores_.size() == k_ ? scores_.front() : 0; }

  private:
    std::size_t k_ = 0;
    std::vector<std::int64_t> scores_;  // of k different columns, the lowest first; or of fewer
};

}  // namespace topk
