#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "advisor/placement/advise.hpp"
#include "cmd/advise/commands.hpp"
#include "cmd/advise/placement_view.hpp"
#include "cmd/input/files.hpp"
#include "cmd/offline/dump.hpp"
#include "cmd/session/cluster.hpp"
#include "cmd/session/session.hpp"
#include "controllers/policy/usage/rounds.hpp"
#include "usage/parse/file.hpp"

namespace cmd::advise {
namespace {

struct Read {
  scheduling::SnapshotInput cluster;
  base::TimePoint now;
  std::vector<std::string> warnings;
};

base::Result<Read> read_dump(const PlacementOptions& options) {
  auto dump = load_dump(options.cluster.snapshot);
  if (!dump) return dump.error();
  const auto now = choose_now(options.now, *dump);
  if (!now) return now.error();
  std::vector<std::string> warnings;
  if (auto warning = input_warnings(*dump); !warning.empty()) warnings.push_back(std::move(warning));
  return Read{std::move(dump->objects), now->time, std::move(warnings)};
}

base::Result<Read> read_live(const PlacementOptions& options, plugin::Io& io) {
  const ClusterOptions& cluster = options.cluster;
  auto session = plugin::Session::connect({.kubeconfig = cluster.kubeconfig, .context = cluster.context}, io);
  if (!session) return session.error();
  plugin::LiveCluster live = read_cluster(**session, "");
  if (!live.snapshot)
    return base::unavailable(live.problems.empty() ? "cannot read nodes and pods" : live.problems.front());
  return Read{*std::move(live.snapshot), (*session)->now(), std::move(live.problems)};
}

base::Result<std::optional<scheduling::MeasuredUsage>> read_usage(const std::string& path, base::TimePoint now) {
  if (path.empty()) return std::optional<scheduling::MeasuredUsage>();
  const auto text = read_text_file(path);
  if (!text) return text.error();
  auto samples = usage::read_usage_file(*text, now);
  if (!samples) return samples.error().during(path);
  controllers::UsageRounds rounds{api::UsageSource()};
  rounds.add(*std::move(samples), now);
  return std::optional(rounds.figures("file", now));
}

/// Returns a warning if usage was measured but for no pod of the cluster, else an empty string.
std::string usage_warning(const scheduling::SnapshotInput& cluster,
                          const std::optional<scheduling::MeasuredUsage>& measured) {
  if (!measured || measured->pods.empty()) return {};
  std::set<std::pair<std::string_view, std::string_view>> there;
  for (const auto& pod : cluster.pods) there.emplace(pod->meta.ns, pod->meta.name);
  const bool has_any = std::ranges::any_of(measured->pods, [&](const auto& pod) {
    return there.contains({pod.ns, pod.name});
  });
  if (has_any) return {};
  return fmt::format("--usage: none of its {} pods is in this cluster", measured->pods.size());
}

/// Returns a stopwatch that starts now. Each plan has its own time budget.
std::function<base::Duration()> started_watch() {
  return [begin = std::chrono::steady_clock::now()] {
    return std::chrono::duration_cast<base::Duration>(std::chrono::steady_clock::now() - begin);
  };
}

base::Status advise_on(const PlacementOptions& options, plugin::Io& io) {
  const auto read = options.cluster.snapshot.empty() ? read_live(options, io) : read_dump(options);
  if (!read) return read.error();
  if (read->cluster.nodes.empty()) return base::invalid("the dump contains no Node: dump nodes and pods together");
  const auto measured = read_usage(options.usage, read->now);
  if (!measured) return measured.error();
  const auto report = advisor::advise_placement({.cluster = read->cluster,
                                                 .now = read->now,
                                                 .measured = *measured ? &**measured : nullptr,
                                                 .max_plans = static_cast<std::size_t>(options.plans),
                                                 .stopwatch = started_watch});
  for (const std::string& each : read->warnings) io.err("Warning: " + each + "\n");
  if (const std::string warning = usage_warning(read->cluster, *measured); !warning.empty())
    io.err("Warning: " + warning + "\n");
  if (options.output == "table") {
    io.out(placement_text(report));
  } else {
    plugin::print_value(io, options.output, placement_json(report));
  }
  return base::Done{};
}

}  // namespace

int run_placement(const PlacementOptions& options, plugin::Io& io) {
  if (const auto done = advise_on(options, io); !done) return plugin::fail(io, done.error());
  return plugin::kDone;
}

}  // namespace cmd::advise
