#pragma once

#include <string>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "usage/parse/prometheus.hpp"
#include "usage/source.hpp"
#include "usage/sources/endpoint_client.hpp"

namespace usage {

/// Sends one call to the HTTP API and returns the answer's text. `query` contains its encoded parameters. Errors
/// contain the API's own message if there is one. kOutcomeUnknown means that this query was too slow or was aborted
/// while the server works.
base::Result<std::string> ask_prometheus(EndpointClient& client, const std::string& path, std::string query);

/// Prometheus' HTTP API: one instant query per column for the whole cluster. If a query fails, its column is kUnknown,
/// and there is a problem. The sample fails if all queries fail, two time out, or the server is unreachable.
class Prometheus final : public Source {
 public:
  Prometheus(const api::UsageSource& source, Dependencies dependencies);

  base::Result<Samples> sample() override;
  /// Returns the history of the node queries. Sends as many range queries as needed to stay within kMaxPoints per
  /// series and kMaxAnswerBytes per answer. Returns kInvalid if there are more than kMaxGridValues values in total.
  base::Result<std::vector<Series>> history(base::TimePoint from, base::TimePoint to, base::Duration step) override;

 private:
  base::Result<Samples> sample_all();
  base::Result<std::vector<Series>> read_all(const Grid& grid);
  base::Result<std::string> ask(const std::string& path, const std::string& query);
  base::Result<std::string> ask_now(const std::string& expression);
  base::Result<Rows> query_rows(const api::UsageQuery& query, std::vector<std::string>& problems);
  base::Result<std::size_t> series_of(const api::UsageQuery& query);
  base::Status read_history(const api::UsageQuery& query, const Grid& grid, std::size_t room, GridSeries& series);

  std::vector<api::UsageQuery> queries_;  ///< with presets replaced
  const base::Duration timeout_;
  EndpointClient client_;
};

}  // namespace usage
