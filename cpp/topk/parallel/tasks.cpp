// The calling thread works alone until threads pay.
#include "topk/parallel/tasks.hpp"

#include <exception>

namespace topk {

void Tasks::run(std::size_t n, Ticker& ticker, const std::function<void(std::size_t, Ticker&)>& task) {
    Monitor& monitor = ticker.monitor();
    std::size_t done = 0;
    for (; done < n && (n_threads_ == 1 || n - done == 1 || monitor.seconds() < after_); ++done) {
        task(done, ticker);
    }
    if (done == n) {
        return;
    }
    if (!pool_) {
        pool_ = std::make_unique<ThreadPool>(n_threads_);
    }
    const auto run_one = [&](int i) {
        if (monitor.stopped()) {
            return;
        }
        try {
            Ticker own(monitor);
            task(done + static_cast<std::size_t>(i), own);
        } catch (const Stopped&) {
            // The monitor knows the reason.
        } catch (...) {
            monitor.fail(std::current_exception());
        }
    };
    const auto idle = [&] { monitor.check(monitor.called_from_here()); };
    pool_->run(0, static_cast<int>(n - done), run_one, run_one, idle);
    if (monitor.stopped()) {
        throw Stopped{};
    }
}

}  // namespace topk
