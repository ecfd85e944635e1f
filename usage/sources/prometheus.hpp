#pragma once

#include <string>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "usage/parse/prometheus.hpp"
#include "usage/source.hpp"
#include "usage/sources/endpoint_client.hpp"

namespace usage {

/// One call of the HTTP API, `query` being its encoded parameters; the answer's text. Errors are in the API's own words
/// where it tells any; kOutcomeUnknown: this query was too slow, or was stopped, and the server works.
base::Result<std::string> ask_prometheus(EndpointClient& client, const std::string& path, std::string query);

/// Prometheus' HTTP API: one instant query a column for the whole cluster. A query that goes wrong leaves its column
/// kUnknown and a problem; when all do, two come too late, or the server is not reached, the sample fails.
class Prometheus final : public Source {
 public:
  Prometheus(const api::UsageSource& source, Dependencies dependencies);

  base::Result<Samples> sample() override;
  /// Of the node queries. As many range queries as answers of at most kMaxPoints a series and kMaxAnswerBytes need.
  /// kInvalid: more values than kMaxGridValues in all.
  base::Result<std::vector<Series>> history(base::TimePoint from, base::TimePoint to, base::Duration step) override;

 private:
  base::Result<Samples> sample_all();
  base::Result<std::vector<Series>> read_all(const Grid& grid);
  base::Result<std::string> ask(const std::string& path, const std::string& query);
  base::Result<std::string> ask_now(const std::string& expression);
  base::Result<Rows> query_rows(const api::UsageQuery& query, std::vector<std::string>& problems);
  base::Result<std::size_t> series_of(const api::UsageQuery& query);
  base::Status read_history(const api::UsageQuery& query, const Grid& grid, std::size_t room, GridSeries& series);

  std::vector<api::UsageQuery> queries_;  ///< presets are filled in
  const base::Duration timeout_;
  EndpointClient client_;
};

}  // namespace usage
