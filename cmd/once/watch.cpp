#include "cmd/once/watch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cmd {

OnceWatch::Step OnceWatch::look(base::TimePoint now, const controllers::OnceReport* report) {
  if (report == nullptr) {
    if (asked_ && now - *asked_ >= limits_.patience) return Step::kRefused;
    return is_out_of_time(now) ? Step::kTimedOut : Step::kGoOn;
  }
  if (!report->is_done()) {
    done_.reset();
    return is_out_of_time(now) ? Step::kTimedOut : Step::kGoOn;
  }
  if (!done_) done_ = now;
  const base::Duration quiet = now - *done_;
  return quiet >= limits_.cleanup_timeout || (quiet >= limits_.quiet && report->is_tidy) ? Step::kDone : Step::kGoOn;
}

base::Status once_status(const controllers::OnceReport& report, OnceWatch::Step ended, base::Duration timeout) {
  const auto faults = std::ranges::count_if(report.cycles, &controllers::OnceCycle::is_fault);
  const std::string counts =
      fmt::format("{} Evacuations failed, {} are unfinished, {} policies have a problem, {} have had no cycle",
                  report.failed_count, report.unfinished_count, faults, report.waiting_policies.size());
  if (report.is_done()) {
    if (report.is_success()) return base::Done{};
    return base::unavailable(counts);
  }
  const std::string why = ended == OnceWatch::Step::kTimedOut ? "not complete within " + base::format_age(timeout)
                                                              : std::string("ended before completion");
  return base::unavailable(why + ": " + counts);
}

}  // namespace cmd
