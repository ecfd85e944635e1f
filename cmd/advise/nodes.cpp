#include "advisor/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "advisor/patches.hpp"
#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"
#include "cmd/advise/commands.hpp"
#include "cmd/advise/node_days.hpp"
#include "cmd/advise/objects.hpp"
#include "cmd/advise/prometheus.hpp"
#include "cmd/session/session.hpp"
#include "cmd/table.hpp"
#include "planner/report/plain_text.hpp"
#include "usage/matching.hpp"

namespace cmd::advise {
namespace {

using advisor::Day;
using report::plain_text;

struct Nodes {
  std::vector<advisor::NodeSpec> specs;
  std::vector<usage::NodeNames> names;
};

base::Result<Nodes> read_nodes(const NodesOptions& options, plugin::Io& io, std::vector<std::string>& problems) {
  Nodes nodes;
  auto read = read_objects(
      options.cluster, io, {{kube::kNodes}},
      [&](const api::Json& object) {
        if (api::text_at(object, {"kind"}) != "Node") return;
        const auto node = api::decode_node(api::to_json_text(object));
        if (!node || node->meta.name.empty()) return;
        nodes.specs.push_back(advisor::node_spec_of(object));
        nodes.names.push_back(usage::names_of(*node));
      },
      problems);
  if (!read) return std::move(read).error();
  if (nodes.specs.empty()) return base::invalid("the input contains no nodes");
  return nodes;
}

base::Result<DayWindow> window_of(const NodesOptions& options, const plugin::Io& io) {
  Day to = advisor::day_of(io.clock.now());
  if (!options.until.empty()) {
    const auto until = base::parse_time(options.until);
    if (!until) return base::invalid("--until: must be an RFC 3339 time such as 2026-11-21T00:00:00Z");
    to = std::min(to, advisor::day_of(*until));
  }
  return DayWindow{to - options.days, to};
}

std::string reservations_text(const std::vector<advisor::Reservation>& all) {
  Table table({"NODES", "COUNT", "KUBE-RESERVED", "SYSTEM-RESERVED", "EVICTION-HARD", "RESERVED NOW", "DAYS"});
  std::string without;
  for (const advisor::Reservation& each : all) {
    if (!each.no_advice_reason.empty()) {
      without += fmt::format("  {}: no advice: {}\n", plain_text(each.group), each.no_advice_reason);
      continue;
    }
    const auto amounts = [](double cpu, double memory) {
      return advisor::cpu_quantity(cpu) + ", " + advisor::memory_quantity(memory);
    };
    table.add_row({plain_text(each.group), std::to_string(each.nodes),
                   each.is_split ? amounts(each.kube_cpu, each.kube_memory) : "(in system-reserved)",
                   amounts(each.system_cpu, each.system_memory), advisor::memory_quantity(each.eviction_memory),
                   amounts(each.reserved_cpu, each.reserved_memory), std::to_string(each.days)});
  }
  return (table.empty() ? "" : table.render()) + without;
}

std::string findings_text(const std::vector<advisor::NodeFinding>& all) {
  if (all.empty()) return "\nNo node is overcommitted by its measured usage, and no node is a hot spot.\n";
  Table table({"NODE", "REASON", "ON ITS WORST DAY"});
  for (const advisor::NodeFinding& each : all)
    table.add_row({plain_text(each.node), each.reason, plain_text(each.text)});
  return "\n" + table.render();
}

api::Json nodes_json(const advisor::NodeAdvice& advice, const std::vector<std::string>& problems) {
  api::Json reservations = api::Json::array();
  for (const advisor::Reservation& each : advice.reservations) {
    api::Json json = {{"nodes", each.group},
                      {"count", each.nodes},
                      {"days", each.days},
                      {"samples", each.samples},
                      {"noAdvice", each.no_advice_reason},
                      {"reservedNow",
                       {{"cpu", advisor::cpu_quantity(each.reserved_cpu)},
                        {"memory", advisor::memory_quantity(each.reserved_memory)}}}};
    if (each.no_advice_reason.empty()) json["kubeletConfiguration"] = advisor::kubelet_configuration(each);
    reservations.push_back(std::move(json));
  }
  api::Json findings = api::Json::array();
  for (const advisor::NodeFinding& each : advice.findings)
    findings.push_back({{"node", each.node},
                        {"reason", each.reason},
                        {"value", each.value},
                        {"limit", each.limit},
                        {"text", each.text}});
  return {{"reservations", std::move(reservations)}, {"findings", std::move(findings)}, {"problems", problems}};
}

/// Returns one YAML document per node group, with the name of the group in a comment.
std::string kubelet_text(const advisor::NodeAdvice& advice) {
  std::string text;
  for (const advisor::Reservation& each : advice.reservations) {
    text += fmt::format("---\n# nodes: {} ({})\n", plain_text(each.group), each.nodes);
    text += each.no_advice_reason.empty() ? advisor::kubelet_configuration(each)
                                          : "# no advice: " + each.no_advice_reason + "\n";
  }
  return text;
}

void print(const NodesOptions& options, const advisor::NodeAdvice& advice, const std::vector<std::string>& problems,
           plugin::Io& io) {
  const bool is_kubelet = options.output == "kubelet";
  if (!is_kubelet && options.output != "table")
    return plugin::print_value(io, options.output, nodes_json(advice, problems));
  io.out(is_kubelet ? kubelet_text(advice) : reservations_text(advice.reservations) + findings_text(advice.findings));
  for (const std::string& problem : problems) {
    const std::string warning = "Warning: " + plain_text(problem) + "\n";
    is_kubelet ? io.err(warning) : io.out(warning);
  }
}

}  // namespace

int run_nodes(const NodesOptions& options, plugin::Io& io) {
  if (options.prometheus.url.empty())
    return plugin::fail(
        io, base::invalid("no history is given: set --prometheus, the only source with the history of nodes"));
  const auto window = window_of(options, io);
  if (!window) return plugin::fail(io, window.error());
  std::vector<std::string> problems;
  const auto nodes = read_nodes(options, io, problems);
  if (!nodes) return plugin::fail(io, nodes.error());
  const auto session = PrometheusSession::open(options.prometheus, {}, io);
  if (!session) return plugin::fail(io, session.error());
  const usage::NodeMatcher matcher(nodes->names);
  const auto days = read_node_days(**session, *window, matcher, problems);
  if (!days) return plugin::fail(io, days.error());
  const double a_day = static_cast<double>(std::chrono::hours(24) / (*session)->settings().step);
  const auto advice = advisor::advise_nodes(nodes->specs, *days, a_day);
  if (advice.odd_days > 0)
    problems.push_back(fmt::format("{} days of nodes have implausible values and are ignored", advice.odd_days));
  print(options, advice, problems, io);
  return plugin::kDone;
}

}  // namespace cmd::advise
