// A node of the search: a subset of the rows, with the class counts of every column on it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "topk/base/memory.hpp"
#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/score/scoring.hpp"

namespace topk {

// The weight of one side of a split. It follows from the parent's counts.
template <class Count>
struct SideWeight {
    Count weight = 0;
    Count heaviest = 0;  // weight of its heaviest class
    Count errors() const { return weight - heaviest; }
};

template <class Count>
struct Node {
    const BitMatrix* matrix = nullptr;
    Subset subset;
    Fingerprint fingerprint;  // of the subset
    Fingerprint path;         // of the splits that lead to it, in any order
    Counts<Count> counts;     // its rows point into the storage of this node or of an ancestor, which must outlive it
    SideWeight<Count> whole;
    Count conflicts = 0;  // weight that every tree misclassifies
    AlignedBuffer<Count> storage;
    AlignedBuffer<std::int32_t> n_true_storage;
};

template <class Count>
void add_class(SideWeight<Count>& side, Count weight) {
    side.weight += weight;
    side.heaviest = weight > side.heaviest ? weight : side.heaviest;
}

template <class Count>
void add_total(Node<Count>& node, std::int32_t class_index, Count weight) {
    node.counts.totals.push_back(weight);
    node.counts.class_index.push_back(class_index);
    add_class(node.whole, weight);
}

// Count every column on the node's subset. Precondition: its totals are set. `track_rows`: also count rows per column,
// whatever their weight.
template <class Count>
void count_node(Node<Count>& node, Counter<Count>& counter, bool track_rows) {
    const std::size_t n_columns = node.matrix->n_columns;
    const std::size_t n_classes = node.counts.totals.size();
    Count* storage = node.storage.ensure(n_classes * n_columns);
    node.counts.rows.clear();
    for (std::size_t span = 0; span < node.subset.spans.size();) {
        Count* row = storage + node.counts.rows.size() * n_columns;
        counter.weights(*node.matrix, node.subset, span, row);
        node.counts.rows.push_back(row);
    }
    node.counts.n_true = nullptr;
    if (track_rows) {
        std::int32_t* n_true = node.n_true_storage.ensure(n_columns);
        counter.rows(*node.matrix, node.subset, n_true);
        node.counts.n_true = n_true;
        node.counts.n_rows = static_cast<std::int64_t>(counter.n_rows(*node.matrix, node.subset));
    }
}

// Set the counts of `larger` to those of `parent` minus those of `smaller`. Classes without rows in `smaller` are
// shared with the parent instead of copied.
template <class Count>
void subtract_node(const Counts<Count>& parent, const Counts<Count>& smaller, std::size_t n_columns,
                   Node<Count>& larger) {
    Count* storage = larger.storage.ensure(smaller.rows.size() * n_columns);
    Counts<Count>& out = larger.counts;
    out.rows.clear();
    out.totals.clear();
    out.class_index.clear();
    larger.whole = {};
    std::size_t s = 0;
    for (std::size_t c = 0; c < parent.rows.size(); ++c) {
        const bool shared = s == smaller.rows.size() || smaller.class_index[s] != parent.class_index[c];
        const Count total = parent.totals[c] - (shared ? Count{0} : smaller.totals[s]);
        if (shared) {
            out.rows.push_back(parent.rows[c]);
        } else if (total > 0) {
            Count* row = storage + s * n_columns;
            for (std::size_t j = 0; j < n_columns; ++j) {
                row[j] = parent.rows[c][j] - smaller.rows[s][j];
            }
            out.rows.push_back(row);
        }
        s += shared ? 0 : 1;
        if (total > 0) {
            add_total(larger, parent.class_index[c], total);
        }
    }
    out.n_true = nullptr;
    if (parent.n_true != nullptr) {
        std::int32_t* n_true = larger.n_true_storage.ensure(n_columns);
        for (std::size_t j = 0; j < n_columns; ++j) {
            n_true[j] = parent.n_true[j] - smaller.n_true[j];
        }
        out.n_true = n_true;
        out.n_rows = parent.n_rows - smaller.n_rows;
    }
}

// Memory for a split on a threshold that is not in the grid.
template <class Count>
struct SplitBuffers {
    AlignedBuffer<std::uint64_t> bits;
    std::vector<Count> totals;
};

// A node split on one column, as far as the node's counts tell. It points into the node's counts and matrix, and for a
// threshold between those of the grid into the caller's buffers.
template <class Count>
class Split {
  public:
    // A column of the node's matrix. `column`: its index among all columns.
    Split(const Counts<Count>& counts, const BitMatrix& matrix, std::size_t matrix_column, std::int32_t column)
        : column_(column), bits_(matrix.column(matrix_column)), counts_(&counts), matrix_column_(matrix_column) {
        weigh();
    }
    Split(const Node<Count>& node, std::int32_t column)
        : Split(node.counts, *node.matrix, static_cast<std::size_t>(node.matrix->place_of(column)), column) {}
    // A column whose bits and whose weight per class of the node are in the buffers.
    Split(const Counts<Count>& counts, const SplitBuffers<Count>& buffers, std::int32_t column)
        : column_(column), bits_{buffers.bits.data(), 1}, counts_(&counts), totals_(buffers.totals.data()) {
        weigh();
    }

    std::int32_t column() const { return column_; }
    ColumnBits bits() const { return bits_; }
    // The side with less weight; the true side if both weigh the same.
    bool small_side() const { return small_side_; }
    // The sides in the order smaller, larger.
    const SideWeight<Count>& side(int i) const { return side_[i]; }
    // Return the weight of the node's c-th class on one side.
    Count total(std::size_t c, bool side) const {
        const Count n_true = totals_ != nullptr ? totals_[c] : counts_->rows[c][matrix_column_];
        return side ? n_true : static_cast<Count>(counts_->totals[c] - n_true);
    }

  private:
    void weigh() {
        for (std::size_t c = 0; c < counts_->totals.size(); ++c) {
            add_class(side_[0], total(c, true));
            add_class(side_[1], total(c, false));
        }
        small_side_ = side_[0].weight <= side_[1].weight;
        if (!small_side_) {
            std::swap(side_[0], side_[1]);
        }
    }

    std::int32_t column_;
    ColumnBits bits_;
    const Counts<Count>* counts_;
    std::size_t matrix_column_ = 0;
    const Count* totals_ = nullptr;  // of the true side
    bool small_side_ = false;
    SideWeight<Count> side_[2];
};

// Set the classes of one side of a split and their weights.
template <class Count>
void set_totals(const Counts<Count>& parent, const Split<Count>& split_on, bool side, Node<Count>& child) {
    child.counts.totals.clear();
    child.counts.class_index.clear();
    child.whole = {};
    for (std::size_t c = 0; c < parent.totals.size(); ++c) {
        if (const Count total = split_on.total(c, side); total > 0) {
            add_total(child, parent.class_index[c], total);
        }
    }
}

}  // namespace topk
