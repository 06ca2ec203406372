// Root and children.
#include "topk/search/node_factory.hpp"

#include <algorithm>
#include <vector>

namespace topk {

template <class Count>
void NodeFactory<Count>::build_root(MatrixExtras extras, Identity identity, Counter<Count>& counter, Ticker& ticker) {
    identity_ = identity;
    extras.fingerprints = identity == Identity::rows;
    build_matrix(data_, extras, kernels_, ticker, matrix_, root_.subset);
    if (identity == Identity::literals) {
        matrix_.salt = hash_matrix(matrix_, root_.subset, kernels_, ticker);
        literals_ = LiteralFingerprints(matrix_, root_.subset, data_.n_columns, matrix_.salt, ticker);
    }
    root_.matrix = &matrix_;
    std::vector<Count> totals(static_cast<std::size_t>(data_.n_classes), 0);
    for_each(data_.n_rows, 2, ticker, [&](std::size_t i) {
        const auto c = static_cast<std::size_t>(data_.classes[i]);
        const std::int64_t row = data_.row_weight.empty() ? 1 : data_.row_weight[i];
        totals[c] += static_cast<Count>(row * data_.class_weight[c]);
    });
    root_.fingerprint = row_fingerprint(matrix_, root_.subset);
    root_.conflicts = counter.conflicts(matrix_, root_.subset);
    for (std::size_t c = 0; c < totals.size(); ++c) {
        if (totals[c] > 0) {
            add_total(root_, static_cast<std::int32_t>(c), totals[c]);
        }
    }
    count_node(root_, counter, track_rows_);
}

template <class Count>
Fingerprint NodeFactory<Count>::row_fingerprint(const BitMatrix& matrix, const Subset& subset) const {
    if (!matrix.has_fingerprints) {
        return {};
    }
    return kernels_.xor_fingerprints(matrix.fingerprint_low.data(), matrix.fingerprint_high.data(), subset.list());
}

// Thresholds have too many literals to hash the rows of each.
template <class Count>
Fingerprint NodeFactory<Count>::literal_fingerprint(std::int32_t column, bool side) const {
    const ColumnPlace place = columns_.place(column);
    return place.group < 0 && identity_ == Identity::literals
               ? literals_.of(place.index, side)
               : salted_fingerprint(matrix_.salt, 2 * static_cast<std::uint64_t>(column) + (side ? 1 : 0));
}

template <class Count>
Split<Count> NodeFactory<Count>::split_on(const Node<Count>& node, std::int32_t column, Counter<Count>& counter,
                                          SplitBuffers<Count>& buffers) const {
    if (data_.groups.empty()) {
        return {node, column};
    }
    const BitMatrix& matrix = *node.matrix;
    const ColumnBits bits = bits_of(matrix, columns_.place(column), buffers.bits);
    if (bits.stride == matrix.n_columns) {
        return {node.counts, matrix, static_cast<std::size_t>(bits.data - matrix.bits.data()), column};
    }
    counter.totals_among(matrix, node.subset, buffers.bits.data(), buffers.totals);
    return {node.counts, buffers, column};
}

template <class Count>
void NodeFactory<Count>::open_children(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter,
                                       Node<Count> child[2]) const {
    const BitMatrix& matrix = *node.matrix;
    child[0].matrix = child[1].matrix = node.matrix;
    split(matrix, node.subset, split_on.bits(), split_on.small_side(), child[0].subset);
    child[0].path = path(node, split_on.column(), split_on.small_side());
    child[1].path = path(node, split_on.column(), !split_on.small_side());
    if (identity_ == Identity::literals) {
        child[0].fingerprint = child[0].path;
        child[1].fingerprint = child[1].path;
    } else {
        child[0].fingerprint = row_fingerprint(matrix, child[0].subset);
        child[1].fingerprint = node.fingerprint ^ child[0].fingerprint;
    }
    child[0].conflicts = counter.conflicts(matrix, child[0].subset);
    child[1].conflicts = static_cast<Count>(node.conflicts - child[0].conflicts);
}

template <class Count>
void NodeFactory<Count>::count_children(const Node<Count>& node, const Split<Count>& split_on, Counter<Count>& counter,
                                        Node<Count> child[2]) const {
    split(*node.matrix, node.subset, split_on.bits(), !split_on.small_side(), child[1].subset);
    set_totals(node.counts, split_on, split_on.small_side(), child[0]);
    count_node(child[0], counter, track_rows_);
    subtract_node(node.counts, child[0].counts, node.matrix->n_columns, child[1]);
}

template <class Count>
void NodeFactory<Count>::grow_children(const Node<Count>& node, const Split<Count>& split_on, bool are_leaves,
                                       Counter<Count>& counter, Node<Count> child[2]) const {
    open_children(node, split_on, counter, child);
    if (!are_leaves) {
        count_children(node, split_on, counter, child);
        return;
    }
    split(*node.matrix, node.subset, split_on.bits(), !split_on.small_side(), child[1].subset);
    set_totals(node.counts, split_on, split_on.small_side(), child[0]);
    set_totals(node.counts, split_on, !split_on.small_side(), child[1]);
}

template <class Count>
std::unique_ptr<TreeNode> NodeFactory<Count>::leaf(const Node<Count>& node, const Counter<Count>& counter) const {
    auto leaf = std::make_unique<TreeNode>();
    const std::vector<Count>& totals = node.counts.totals;
    const auto heaviest = std::max_element(totals.begin(), totals.end()) - totals.begin();
    const std::int32_t predicted = node.counts.class_index[static_cast<std::size_t>(heaviest)];
    leaf->n_rows = static_cast<std::int64_t>(counter.n_rows(*node.matrix, node.subset));
    leaf->n_wrong = leaf->n_rows - static_cast<std::int64_t>(counter.n_rows(*node.matrix, node.subset, predicted));
    leaf->class_index = node.counts.class_index;
    leaf->class_weight.assign(totals.begin(), totals.end());
    return leaf;
}

template class NodeFactory<std::int32_t>;
template class NodeFactory<std::int64_t>;

}  // namespace topk
