#include "cmd/advise/node_days.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace cmd::advise {
namespace {

using advisor::Day;

constexpr std::size_t kMaxNames = 5;

class NodeDaysReader {
 public:
  NodeDaysReader(PrometheusSession& session, const usage::NodeMatcher& matcher)
      : session_(session), matcher_(matcher), expressions_(usage::node_expressions(session.settings())) {}

  base::Status read(Day day) {
    for (std::size_t i = 0; i < expressions_.size(); ++i) {
      told_.clear();
      auto told =
          session_.history().nodes(expressions_[i], advisor::start_of(day + 1),
                                   [&](std::string_view instance, double value) { take(instance, value, day, i); });
      if (!told) return told.error().during("Prometheus, " + advisor::text_of(day));
    }
    return base::Done{};
  }

  advisor::NodeDays finish(std::vector<std::string>& problems) && {
    if (unknown_tokens_ > 0)
      problems.push_back(fmt::format("{} values belong to nodes that are not in the cluster", unknown_tokens_));
    if (!ambiguous_.empty()) problems.push_back(unclear_text());
    return std::move(days_);
  }

 private:
  /// Stores kUnknown for a second series of a node and for NaN, which DailyHistory returns for several series of one
  /// instance.
  void take(std::string_view instance, double value, Day day, std::size_t metric) {
    const std::string node(matcher_.match(instance));
    if (node.empty()) {
      ++unknown_tokens_;
      return;
    }
    const bool is_clear = told_.insert(node).second && !std::isnan(value);
    days_[node][day].values[metric] = is_clear ? value : advisor::kUnknown;
    if (!is_clear) ambiguous_.insert(node);
  }

  std::string unclear_text() const {
    std::string names;
    std::size_t shown = 0;
    for (const std::string& node : ambiguous_) {
      if (++shown > kMaxNames) break;
      names += (names.empty() ? "" : ", ") + node;
    }
    return fmt::format(
        "{} nodes have more than one series for a metric, or a series without a number: these metrics are ignored "
        "({}{}); select the series with --prometheus-matchers",
        ambiguous_.size(), names, ambiguous_.size() > kMaxNames ? ", …" : "");
  }

  PrometheusSession& session_;
  const usage::NodeMatcher& matcher_;
  const std::vector<usage::DailyExpression> expressions_;
  advisor::NodeDays days_;
  std::set<std::string> told_;  ///< nodes that already have a value in the current response
  std::set<std::string> ambiguous_;
  std::size_t unknown_tokens_ = 0;
};

}  // namespace

base::Result<advisor::NodeDays> read_node_days(PrometheusSession& session, const DayWindow& window,
                                               const usage::NodeMatcher& matcher, std::vector<std::string>& problems) {
  NodeDaysReader reader(session, matcher);
  for (Day day = window.from; day < window.to; ++day) {
    if (auto read = reader.read(day); !read) return read.error();
  }
  return std::move(reader).finish(problems);
}

}  // namespace cmd::advise
