// Class counts per cell are summed up from the left, so that the counts of a segment are a difference.
#include "topk/data/boundaries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <queue>

#include "topk/base/require.hpp"
#include "topk/data/count_below.hpp"

namespace topk {
namespace {

// More weights than this fit into no memory; their number of bytes can be computed.
constexpr std::size_t kMaxCells = std::size_t{1} << 48;

// A run of cells that is one leaf of the tree so far, and its best split.
struct Segment {
    std::size_t begin;  // cells [begin, end)
    std::size_t end;
    std::size_t edge = 0;  // begin <= edge < end - 1: cells up to `edge` go left
    double gain = 0;

    friend bool operator<(const Segment& a, const Segment& b) {  // ties: the left one comes first
        return a.gain != b.gain ? a.gain < b.gain : a.begin > b.begin;
    }
};

class Counts {
  public:
    Counts(std::span<const double> cells, std::size_t n_classes)
        : n_classes_(n_classes), below_(cells.size() + n_classes) {
        std::copy(cells.begin(), cells.end(), below_.begin() + static_cast<std::ptrdiff_t>(n_classes));
        for (std::size_t i = n_classes_; i < below_.size(); ++i) {
            below_[i] += below_[i - n_classes_];
        }
    }

    // Return the sum of squared class weights, divided by the segment's weight: the part of a Gini gain that differs
    // between edges.
    double purity(std::size_t begin, std::size_t end) const {
        double squares = 0;
        double sum = 0;
        for (std::size_t c = 0; c < n_classes_; ++c) {
            const double weight = below_[end * n_classes_ + c] - below_[begin * n_classes_ + c];
            squares += weight * weight;
            sum += weight;
        }
        return sum > 0 ? squares / sum : 0;
    }

  private:
    std::size_t n_classes_;
    std::vector<double> below_;  // (n_cells + 1, n_classes)
};

Segment best_split(const Counts& counts, std::size_t begin, std::size_t end) {
    Segment segment = {begin, end};
    const double whole = counts.purity(begin, end);
    for (std::size_t edge = begin; edge + 1 < end; ++edge) {
        const double gain = counts.purity(begin, edge + 1) + counts.purity(edge + 1, end) - whole;
        if (gain > segment.gain) {
            segment.edge = edge;
            segment.gain = gain;
        }
    }
    return segment;
}

}  // namespace

std::vector<double> class_cells(std::span<const double> values, std::span<const double> edges,
                                std::span<const std::int32_t> classes, std::size_t n_classes,
                                std::span<const double> row_weight) {
    require(classes.size() == values.size() && (row_weight.empty() || row_weight.size() == values.size()),
            "classes and row_weight must have one entry per value");
    require(n_classes <= kMaxCells / (edges.size() + 1), "n_classes must be smaller");
    for (const std::int32_t index : classes) {
        require(index >= 0 && static_cast<std::size_t>(index) < n_classes, "classes must be in [0, n_classes)");
    }
    std::vector<double> weights((edges.size() + 1) * n_classes, 0.0);
    constexpr std::size_t kBlock = 512;
    std::array<std::uint32_t, kBlock> cells;
    for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
        const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
        count_below(edges, block, cells.data());
        for (std::size_t i = 0; i < block.size(); ++i) {
            const double weight = row_weight.empty() ? 1.0 : row_weight[begin + i];
            const auto c = static_cast<std::size_t>(classes[begin + i]);
            weights[cells[i] * n_classes + c] += std::isnan(block[i]) ? 0.0 : weight;
        }
    }
    return weights;
}

std::vector<std::int64_t> split_order(std::span<const double> cells, std::size_t n_classes, std::size_t n) {
    require(n_classes >= 1 && cells.size() % n_classes == 0, "cells must have one weight for each of at least 1 class");
    const Counts counts(cells, n_classes);
    std::priority_queue<Segment> queue;
    queue.push(best_split(counts, 0, cells.size() / n_classes));
    std::vector<std::int64_t> order;
    while (!queue.empty() && order.size() < n) {
        const Segment segment = queue.top();
        queue.pop();
        if (segment.gain <= 0) {
            break;
        }
        order.push_back(static_cast<std::int64_t>(segment.edge));
        queue.push(best_split(counts, segment.begin, segment.edge + 1));
        queue.push(best_split(counts, segment.edge + 1, segment.end));
    }
    return order;
}

std::vector<double> short_decimals(std::span<const double> low, std::span<const double> high) {
    constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    require(low.size() == high.size(), "low and high must have the same size");
    std::vector<double> decimals(low.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < low.size(); ++i) {
        const double middle = low[i] / 2 + high[i] / 2;
        const double above = std::max(low[i], static_cast<double>(static_cast<float>(low[i])));
        const double below = std::min(high[i], static_cast<double>(static_cast<float>(high[i])));
        for (const double power : kPowers) {
            // Both numbers are exact, so their quotient is the double that the decimal is read as.
            const double digits = std::nearbyint(middle * power);
            if (!(std::abs(middle) < 1e15 && std::abs(digits) < 0x1p53)) {
                break;
            }
            const double decimal = digits / power + 0.0;  // no negative zero
            if (above < decimal && decimal < below) {
                decimals[i] = decimal;
                break;
            }
        }
    }
    return decimals;
}

std::vector<std::uint8_t> tell_apart(std::span<const double> low, std::span<const double> high) {
    constexpr float kInfinite = std::numeric_limits<float>::infinity();
    require(low.size() == high.size(), "low and high must have the same size");
    std::vector<std::uint8_t> are_apart(low.size());
    for (std::size_t i = 0; i < low.size(); ++i) {
        const auto below = static_cast<float>(low[i]);
        const auto above = static_cast<float>(high[i]);
        are_apart[i] = std::isfinite(below) && std::isfinite(above) && std::nextafter(below, kInfinite) < above ? 1 : 0;
    }
    return are_apart;
}

}  // namespace topk
