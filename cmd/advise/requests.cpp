#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "advisor/patches.hpp"
#include "advisor/rolling/codec.hpp"
#include "api/advice/resource_advice.hpp"
#include "api/json/json_access.hpp"
#include "cmd/advise/commands.hpp"
#include "cmd/advise/objects.hpp"
#include "cmd/advise/past.hpp"
#include "cmd/advise/requests_view.hpp"
#include "cmd/session/session.hpp"
#include "kube/resource.hpp"

namespace cmd::advise {
namespace {

namespace fs = std::filesystem;

constexpr kube::ResourceType kCronJobs{"batch", "v1", "cronjobs", "CronJob"};
constexpr kube::ResourceType kHorizontal{"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"};
/// HorizontalPodAutoscaler API before Kubernetes 1.23, which knows CPU targets only.
constexpr kube::ResourceType kHorizontalV1{"autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler"};
constexpr kube::ResourceType kVertical{"autoscaling.k8s.io", "v1", "verticalpodautoscalers", "VerticalPodAutoscaler"};

const std::vector<RequestedKind>& wanted_kinds() {
  static const std::vector<RequestedKind> kinds = {{kube::kPods},
                                                   {kube::kDeployments, true},
                                                   {kube::kReplicaSets, true},
                                                   {kube::kStatefulSets, true},
                                                   {kube::kDaemonSets, true},
                                                   {kube::kJobs, true},
                                                   {kCronJobs, true},
                                                   {kHorizontal, true},
                                                   {kHorizontalV1, true},
                                                   {kVertical, true}};
  return kinds;
}

/// Adds the history that a ResourceAdvice object stores for each container.
void add_stored_history(const api::Json& object, base::TimePoint now, advisor::Histories& kept,
                        std::vector<std::string>& problems) {
  if (api::text_at(object, {"kind"}) != kube::kResourceAdvices.kind) return;
  const auto advice = api::decode_resource_advice(object);
  if (!advice) return;
  const auto& workload = advice->status.workload;
  for (const api::ContainerAdvice& container : advice->status.containers) {
    if (container.sketch.empty()) continue;
    const auto history = advisor::decode_history(container.sketch, now);
    if (history) {
      const advisor::WorkloadKey key{advice->meta.ns, workload.kind, workload.name};
      kept.containers[{key, container.name}] = history->history();
    } else {
      problems.push_back(fmt::format("ResourceAdvice {}/{}, container {}: {}", advice->meta.ns, advice->meta.name,
                                     container.name, history.error().message));
    }
  }
}

/// Reads the objects that advice depends on. If a kind cannot be read, facts that depend on it are unknown.
base::Result<advisor::Inventory> read_inventory(const RequestsOptions& options, plugin::Io& io,
                                                advisor::Histories& kept, std::vector<std::string>& problems) {
  advisor::InventoryBuilder builder;
  std::vector<RequestedKind> kinds = wanted_kinds();
  if (options.resource_advices) kinds.push_back({kube::kResourceAdvices});
  auto read = read_objects(
      options.cluster, io, kinds,
      [&](const api::Json& object) {
        builder.add(object);
        if (options.resource_advices) add_stored_history(object, io.clock.now(), kept, problems);
      },
      problems);
  if (!read) return std::move(read).error();
  return std::move(builder).finish(options.cluster.ns);
}

void note_strangers(const advisor::Histories& histories, std::vector<std::string>& problems) {
  const auto count = histories.unknown_pods + histories.ambiguous_pods;
  if (count == 0) return;
  std::string names;
  for (const std::string& example : histories.examples) names += (names.empty() ? "" : ", ") + example;
  problems.push_back(fmt::format(
      "{} series of the history are ignored: {} belong to no existing workload, {} match more than one workload ({})",
      count, histories.unknown_pods, histories.ambiguous_pods, names));
}

base::Status write_file(const fs::path& path, const std::string& text) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return base::invalid("--patches: cannot write " + path.string());
  return base::Done{};
}

base::Status write_patches(const RequestsOptions& options, const advisor::Inventory& inventory,
                           const RequestsReport& report, plugin::Io& io) {
  if (options.patches.empty()) return base::Done{};
  const auto patches = advisor::patches_of(inventory, report.advice, options.include_conflicts);
  for (const advisor::PatchFile& file : patches.files) {
    if (auto written = write_file(fs::path(options.patches) / file.path, file.text); !written) return written;
  }
  for (const std::string& left : patches.left_out) io.err("no patch for " + left + "\n");
  io.err(fmt::format("{} patches in {}\n", patches.files.empty() ? 0 : patches.files.size() - 1, options.patches));
  return base::Done{};
}

std::string nothing_there(const std::string& ns) {
  return ns.empty() ? "there are no pods and no workloads" : "there are no pods and no workloads in namespace " + ns;
}

}  // namespace

int run_requests(const RequestsOptions& options, plugin::Io& io) {
  RequestsReport report;
  advisor::Histories kept;
  const auto inventory = read_inventory(options, io, kept, report.problems);
  if (!inventory) return plugin::fail(io, inventory.error());
  if (inventory->workloads.empty()) report.problems.push_back(nothing_there(options.cluster.ns));
  auto past = read_past(options, *inventory, io);
  if (!past) return plugin::fail(io, past.error());
  std::erase_if(kept.containers, [&](const auto& each) {
    return !options.cluster.ns.empty() && each.first.workload.ns != options.cluster.ns;
  });
  advisor::add_histories(past->histories, std::move(kept));
  report.rules = past->rules;
  report.prices = {options.price_core, options.price_gib};
  report.currency = options.currency;
  report.problems.insert(report.problems.end(), past->problems.begin(), past->problems.end());
  note_strangers(past->histories, report.problems);
  report.advice = advisor::advise_requests(*inventory, past->histories, report.rules);
  report.waste = advisor::waste_of(report.advice);
  if (options.output == "table") {
    io.out(requests_text(report));
  } else {
    plugin::print_value(io, options.output, requests_json(report));
  }
  const auto written = write_patches(options, *inventory, report, io);
  return written ? plugin::kDone : plugin::fail(io, written.error());
}

}  // namespace cmd::advise
