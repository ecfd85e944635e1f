#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "advisor/patches.hpp"
#include "advisor/requests.hpp"
#include "advisor/rolling/codec.hpp"
#include "advisor/waste.hpp"
#include "api/advice/resource_advice.hpp"
#include "api/json/json.hpp"
#include "api/json/json_access.hpp"
#include "cmd/advise/commands.hpp"
#include "cmd/advise/objects.hpp"
#include "cmd/advise/past.hpp"
#include "cmd/session/session.hpp"
#include "cmd/table.hpp"
#include "kube/resource.hpp"
#include "planner/report/plain_text.hpp"

namespace cmd::advise {
namespace {

namespace fs = std::filesystem;
using advisor::Advice;
using report::plain_text;
using Amount = std::optional<double>;
using Quantity = std::string (*)(double);

/// Input of the output functions.
struct RequestsReport {
  std::vector<advisor::Advice> advice;
  std::vector<advisor::Waste> waste;
  std::vector<std::string> problems;
  advisor::Rules rules;
  advisor::Prices prices;
  std::string currency;
};

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string change(const Amount& now, const Amount& then, Quantity quantity) {
  const std::string before = now ? quantity(*now) : "none";
  return then ? before + " → " + quantity(*then) : before;
}

std::string workload_text(const Advice& advice) {
  return plain_text(advice.key.workload.kind + "/" + advice.key.workload.name);
}

std::string saving_text(const Advice& advice) {
  const double cores = advisor::cpu_saving(advice);
  const double gib = advisor::memory_saving(advice) / kGiB;
  return fmt::format("{:.2f} cores, {:.2f}Gi", cores, gib);
}

std::string advice_table(const std::vector<Advice>& all) {
  Table table({"NAMESPACE", "WORKLOAD", "CONTAINER", "CPU REQUEST", "CPU LIMIT", "MEMORY REQUEST", "MEMORY LIMIT",
               "SAVING", "RISK", "SAMPLES", "CONFIDENCE"});
  for (const Advice& advice : all) {
    if (!advice.has_advice()) continue;
    const auto& now = advice.current;
    const auto& then = advice.recommended;
    table.add_row({plain_text(advice.key.workload.ns), workload_text(advice), plain_text(advice.key.container),
                   change(now.cpu_request, then.cpu_request, advisor::cpu_quantity),
                   change(now.cpu_limit, then.cpu_limit, advisor::cpu_quantity),
                   change(now.memory_request, then.memory_request, advisor::memory_quantity),
                   change(now.memory_limit, then.memory_limit, advisor::memory_quantity), saving_text(advice),
                   std::string(to_string(advice.risk)), fmt::format("{} in {}d", advice.samples, advice.days),
                   std::string(to_string(advice.confidence))});
  }
  return table.empty() ? "" : table.render();
}

std::string notes_text(const std::vector<Advice>& all) {
  std::string text;
  for (const Advice& advice : all) {
    std::vector<std::string> lines;
    for (const advisor::Conflict& conflict : advice.conflicts) lines.push_back("conflict: " + conflict.text);
    lines.insert(lines.end(), advice.reasons.begin(), advice.reasons.end());
    if (advice.has_advice() && !std::isnan(advice.startup_peak))
      lines.push_back("startup uses " + advisor::cpu_quantity(advice.startup_peak) +
                      ", which is not included in the recommendation");
    for (const std::string& line : lines)
      text += fmt::format("  {}/{} {}: {}\n", plain_text(advice.key.workload.ns), workload_text(advice),
                          plain_text(advice.key.container), plain_text(line));
  }
  return text.empty() ? text : "\nNOTES\n" + text;
}

std::string without_text(const std::vector<Advice>& all) {
  std::string text;
  for (const Advice& advice : all) {
    if (advice.has_advice()) continue;
    text += fmt::format("  {}/{} {}: {}\n", plain_text(advice.key.workload.ns), workload_text(advice),
                        plain_text(advice.key.container), plain_text(advice.no_advice_reason));
  }
  return text.empty() ? text : "\nNO ADVICE\n" + text;
}

/// Formats an amount used. Returns "unknown" if no requested amount was measured.
std::string used_text(double used, double requested, double unmeasured, const char* unit) {
  const bool is_unknown = unmeasured > 0 && unmeasured >= requested;
  return is_unknown ? "unknown" : fmt::format("{:.2f}{}", used, unit);
}

std::string waste_text(const RequestsReport& report) {
  std::vector<std::string> headers = {"NAMESPACE",        "CPU REQUESTED", "USED",        "RECOMMENDED",
                                      "MEMORY REQUESTED", "USED",          "RECOMMENDED", "CONTAINERS"};
  const std::string unit = report.currency.empty() ? "" : " " + plain_text(report.currency);
  if (report.prices.given()) headers.insert(headers.end(), {"UNUSED A MONTH", "SAVING A MONTH"});
  Table table(headers);
  for (const advisor::Waste& waste : report.waste) {
    std::vector<std::string> row = {
        waste.ns.empty() ? "(cluster)" : plain_text(waste.ns),
        fmt::format("{:.2f}", waste.cpu_requested),
        used_text(waste.cpu_used, waste.cpu_requested, waste.cpu_unmeasured, ""),
        fmt::format("{:.2f}", waste.cpu_recommended),
        fmt::format("{:.2f}Gi", waste.memory_requested / kGiB),
        used_text(waste.memory_used / kGiB, waste.memory_requested, waste.memory_unmeasured, "Gi"),
        fmt::format("{:.2f}Gi", waste.memory_recommended / kGiB),
        fmt::format("{} of {}", waste.containers - waste.without_advice, waste.containers)};
    if (report.prices.given()) {
      row.push_back(fmt::format("{:.2f}{}", waste.wasted_money(report.prices), unit));
      row.push_back(fmt::format("{:.2f}{}", waste.saved_money(report.prices), unit));
    }
    table.add_row(std::move(row));
  }
  return "\nREQUESTED BUT UNUSED (containers with recommendations, all replicas, mean usage)\n" + table.render();
}

// --- JSON

api::Json number(double value) { return std::isnan(value) ? api::Json() : api::Json(value); }

api::Json resources_json(const advisor::Resources& resources) {
  api::Json json = {{"requests", api::Json::object()}, {"limits", api::Json::object()}};
  const auto put = [&](const char* list, const char* name, const Amount& amount, Quantity quantity) {
    if (amount) json[list][name] = quantity(*amount);
  };
  put("requests", "cpu", resources.cpu_request, advisor::cpu_quantity);
  put("limits", "cpu", resources.cpu_limit, advisor::cpu_quantity);
  put("requests", "memory", resources.memory_request, advisor::memory_quantity);
  put("limits", "memory", resources.memory_limit, advisor::memory_quantity);
  return json;
}

api::Json advice_json(const Advice& advice) {
  api::Json conflicts = api::Json::array();
  for (const advisor::Conflict& conflict : advice.conflicts)
    conflicts.push_back({{"resource", conflict.resource}, {"with", conflict.with}, {"text", conflict.text}});
  api::Json json = {{"namespace", advice.key.workload.ns},
                    {"kind", advice.key.workload.kind},
                    {"workload", advice.key.workload.name},
                    {"container", advice.key.container},
                    {"replicas", advice.replicas},
                    {"current", resources_json(advice.current)},
                    {"samples", advice.samples},
                    {"days", advice.days},
                    {"missingDays", advice.missing_days},
                    {"noAdvice", advice.no_advice_reason},
                    {"conflicts", std::move(conflicts)},
                    {"reasons", advice.reasons}};
  json["observed"] = {{"cpuMeanCores", number(advice.cpu_used)},
                      {"burstiness", number(advice.burstiness)},
                      {"cpuStartupPeakCores", number(advice.startup_peak)},
                      {"memoryPeakBytes", number(advice.memory_peak)},
                      {"memoryMeanBytes", number(advice.memory_used)},
                      {"throttledShare", number(advice.throttled)},
                      {"oomKills", advice.oom_kills}};
  if (!advice.has_advice()) return json;
  json["recommended"] = resources_json(advice.recommended);
  json["saving"] = {{"cpuCores", advisor::cpu_saving(advice)}, {"memoryBytes", advisor::memory_saving(advice)}};
  json["risk"] = to_string(advice.risk);
  json["confidence"] = to_string(advice.confidence);
  if (advice.percentile_low)
    json["percentileInterval"] = {{"lowCores", *advice.percentile_low}, {"highCores", *advice.percentile_high}};
  return json;
}

api::Json waste_json(const advisor::Waste& waste, const RequestsReport& report) {
  api::Json json = {{"namespace", waste.ns},
                    {"containers", waste.containers},
                    {"withoutAdvice", waste.without_advice},
                    {"withoutRequest", waste.without_request},
                    {"cpuCores",
                     {{"requested", waste.cpu_requested},
                      {"used", waste.cpu_used},
                      {"unmeasured", waste.cpu_unmeasured},
                      {"recommended", waste.cpu_recommended}}},
                    {"memoryBytes",
                     {{"requested", waste.memory_requested},
                      {"used", waste.memory_used},
                      {"unmeasured", waste.memory_unmeasured},
                      {"recommended", waste.memory_recommended}}}};
  if (report.prices.given()) {
    json["unusedMoneyPerMonth"] = waste.wasted_money(report.prices);
    json["savingMoneyPerMonth"] = waste.saved_money(report.prices);
    json["currency"] = report.currency;
  }
  return json;
}

/// Returns the table of advice, its notes, the containers without advice, and the waste.
std::string requests_text(const RequestsReport& report) {
  std::string text = fmt::format(
      "Profile {}{}, {} to {}\n\n", to_string(report.rules.profile),
      report.rules.profile == advisor::Profile::kPercentile ? fmt::format(" (p{:g})", report.rules.percentile) : "",
      advisor::text_of(report.rules.from), advisor::text_of(report.rules.to - 1));
  text += advice_table(report.advice) + notes_text(report.advice) + without_text(report.advice) + waste_text(report);
  for (const std::string& problem : report.problems) text += "Warning: " + plain_text(problem) + "\n";
  return text;
}

api::Json requests_json(const RequestsReport& report) {
  api::Json containers = api::Json::array();
  for (const Advice& advice : report.advice) containers.push_back(advice_json(advice));
  api::Json waste = api::Json::array();
  for (const advisor::Waste& each : report.waste) waste.push_back(waste_json(each, report));
  return {{"profile", to_string(report.rules.profile)},
          {"from", advisor::text_of(report.rules.from)},
          {"to", advisor::text_of(report.rules.to)},
          {"containers", std::move(containers)},
          {"waste", std::move(waste)},
          {"problems", report.problems}};
}

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

}  // namespace

int run_requests(const RequestsOptions& options, plugin::Io& io) {
  RequestsReport report;
  advisor::Histories kept;
  const auto inventory = read_inventory(options, io, kept, report.problems);
  if (!inventory) return plugin::fail(io, inventory.error());
  const std::string& ns = options.cluster.ns;
  if (inventory->workloads.empty())
    report.problems.push_back("there are no pods and no workloads" + (ns.empty() ? "" : " in namespace " + ns));
  auto past = read_past(options, *inventory, io);
  if (!past) return plugin::fail(io, past.error());
  std::erase_if(kept.containers, [&](const auto& each) { return !ns.empty() && each.first.workload.ns != ns; });
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
