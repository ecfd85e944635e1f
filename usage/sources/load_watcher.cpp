#include "usage/sources/load_watcher.hpp"

#include "usage/parse/load_watcher.hpp"

namespace usage {

base::Result<Samples> LoadWatcher::sample() { return client_.redacted(ask()); }

base::Result<Samples> LoadWatcher::ask() {
  kube::Request request;
  request.path = "/watcher";
  auto answer = client_.send(std::move(request));
  if (!answer) return std::move(answer).error();
  if (auto refusal = refusal_of(*answer)) return *std::move(refusal);
  Samples samples;
  samples.columns = {{"cpu", Unit::kPercent}, {"memory", Unit::kPercent}};
  Rows rows(kLoadWatcherWidth);
  if (auto read = read_load_watcher(answer->body, rows); !read) return std::move(read).error();
  for (Column& column : samples.columns) column.window = rows.window;
  add_nodes(samples, std::move(rows), "");
  return samples;
}

base::Result<std::vector<Series>> LoadWatcher::history(base::TimePoint, base::TimePoint, base::Duration) {
  return base::Error{base::ErrorCode::kUnsupported, "load-watcher keeps no history"};
}

}  // namespace usage
