// A greedy tree of a sample of the rows; all rows are sent down the tree.
#include "topk/data/row_clusters.hpp"

#include <algorithm>

#include "topk/data/bit_matrix.hpp"
#include "topk/data/counting.hpp"
#include "topk/data/node.hpp"
#include "topk/score/scoring.hpp"

namespace topk {
namespace {

// With fewer rows there are too few words for their order to matter.
constexpr std::size_t kMinRows = 2048;
constexpr std::size_t kMinRowsPerClass = 256;
constexpr std::size_t kSampleRows = 8192;
constexpr std::size_t kSampleBits = std::size_t{1} << 23;
constexpr int kMaxDepth = 8;
// Rows of the sample per cluster: fewer would not fill a word of every class.
constexpr std::int32_t kMinClusterRows = 48;

// A leaf is its own child, so that all rows take the same number of steps and no branch is mispredicted.
struct ClusterNode {
    std::int32_t column;
    std::uint8_t cluster;
    std::int32_t child[2];  // false, true
};

class ClusterTree {
  public:
    ClusterTree(const Data& sample, std::int32_t min_rows, const Kernels& kernels, Ticker& ticker)
        : sample_(sample),
          min_rows_(min_rows),
          ones_(static_cast<std::size_t>(sample.n_classes), 1),
          counter_(kernels, ones_, ticker),
          scorer_(objective_, sample.n_columns, sample.n_classes, static_cast<std::int64_t>(sample.n_rows), min_rows,
                  kernels) {
        Node<std::int32_t> root;
        build_matrix(sample, {}, kernels, ticker, matrix_, root.subset);
        root.matrix = &matrix_;
        std::vector<std::int32_t> totals(static_cast<std::size_t>(sample.n_classes), 0);
        for (const std::int32_t c : sample.classes) {
            ++totals[static_cast<std::size_t>(c)];
        }
        for (std::size_t c = 0; c < totals.size(); ++c) {
            if (totals[c] > 0) {
                add_total(root, static_cast<std::int32_t>(c), totals[c]);
            }
        }
        count_node(root, counter_, false);
        grow(root, 0);
    }

    std::size_t n_clusters() const { return n_clusters_; }

    std::uint8_t cluster(const RowSource& source, std::size_t row) const {
        std::int32_t at = 0;
        for (int step = 0; step < kMaxDepth; ++step) {
            const ClusterNode& node = nodes_[static_cast<std::size_t>(at)];
            at = node.child[source.test(row, static_cast<std::size_t>(node.column)) ? 1 : 0];
        }
        return nodes_[static_cast<std::size_t>(at)].cluster;
    }

  private:
    std::int32_t grow(const Node<std::int32_t>& node, int depth) {
        const auto at = static_cast<std::int32_t>(nodes_.size());
        nodes_.push_back({0, 0, {at, at}});
        const std::int32_t column = depth < kMaxDepth ? best_column(node) : -1;
        if (column < 0) {
            nodes_.back().cluster = static_cast<std::uint8_t>(n_clusters_++);
            return at;
        }
        const Split<std::int32_t> split_on(node, column);
        Node<std::int32_t> child[2];  // smaller, larger
        for (int i = 0; i < 2; ++i) {
            child[i].matrix = node.matrix;
            split(matrix_, node.subset, split_on.bits(), (i == 0) == split_on.small_side(), child[i].subset);
        }
        set_totals(node.counts, split_on, split_on.small_side(), child[0]);
        count_node(child[0], counter_, false);
        subtract_node(node.counts, child[0].counts, matrix_.n_columns, child[1]);
        const int false_child = split_on.small_side() ? 1 : 0;
        const std::int32_t false_node = grow(child[false_child], depth + 1);
        const std::int32_t true_node = grow(child[1 - false_child], depth + 1);
        nodes_[static_cast<std::size_t>(at)] = {column, 0, {false_node, true_node}};
        return at;
    }

    std::int32_t best_column(const Node<std::int32_t>& node) {
        if (node.whole.weight < 2 * min_rows_ || node.counts.rows.size() < 2) {
            return -1;
        }
        ScoreKey* keys = keys_.ensure(matrix_.n_columns);
        scorer_.keys(node.counts, matrix_.n_columns, keys);
        const std::int64_t best = *std::max_element(keys, keys + sample_.n_columns);
        return best == kNoScoreKey ? -1 : column_of(best);
    }

    const Data& sample_;
    const std::int32_t min_rows_;           // of a cluster
    const std::vector<std::int64_t> ones_;  // class weights
    Counter<std::int32_t> counter_;
    const Objective objective_;  // entropy
    Scorer scorer_;
    BitMatrix matrix_;
    AlignedBuffer<ScoreKey> keys_;
    std::vector<ClusterNode> nodes_;
    std::size_t n_clusters_ = 0;
};

}  // namespace

Clusters find_clusters(const Data& data, const RowSource& source, Arrange arrange, const Kernels& kernels,
                       Ticker& ticker) {
    Clusters clusters;
    if (arrange == Arrange::never || data.n_columns == 0) {
        return clusters;
    }
    const std::size_t n_wanted =
        std::clamp<std::size_t>(kSampleBits / data.n_columns, 1, std::min(kSampleRows, data.n_rows));
    const std::size_t enough = std::max(kMinRows, kMinRowsPerClass * static_cast<std::size_t>(data.n_classes));
    if (arrange == Arrange::if_it_pays && n_wanted < enough) {
        return clusters;
    }
    const std::size_t step = (data.n_rows + n_wanted - 1) / n_wanted;
    std::vector<std::uint64_t> rows((data.n_rows + step - 1) / step * source.words_per_row());
    std::vector<std::int32_t> classes;
    for (std::size_t row = 0; row < data.n_rows; row += step) {
        source.read(row, rows.data() + classes.size() * source.words_per_row());
        classes.push_back(data.classes[row]);
    }
    Data sample;
    sample.rows = rows;
    sample.n_rows = classes.size();
    sample.n_columns = data.n_columns;
    sample.columns = data.columns;
    sample.n_stored = data.n_stored;
    sample.classes = classes;
    sample.n_classes = data.n_classes;
    sample.class_weight = data.class_weight;
    const ClusterTree tree(sample, arrange == Arrange::always ? 1 : kMinClusterRows, kernels, ticker);
    clusters.n = tree.n_clusters();
    clusters.of_row.resize(data.n_rows);
    for (std::size_t row = 0; row < data.n_rows; ++row) {
        ticker.tick(kMaxDepth);
        clusters.of_row[row] = tree.cluster(source, row);
    }
    return clusters;
}

}  // namespace topk
