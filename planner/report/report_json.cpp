#include "planner/report/report_json.hpp"

#include <nlohmann/json.hpp>
#include <unordered_map>

namespace report {
namespace {

using api::Json;

/// Numbers texts that occur in many rows, so that each is written once.
class TextTable {
 public:
  std::size_t number_of(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, numbers_.size());
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  Json texts() && { return std::move(texts_); }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  Json texts_ = Json::array();
};

std::int64_t position_of(NodeIndex node) { return node == kNoNode ? -1 : static_cast<std::int64_t>(node); }

Json encode_nodes(const Report& report) {
  Json rows = Json::array();
  for (const ReportNode& node : report.nodes) {
    Json row = {{"name", node.name}, {"fate", to_string(node.fate)}};
    for (const Resource resource : kResources) {
      const Amount& amount = node.amounts[static_cast<std::size_t>(resource)];
      row[std::string(to_string(resource))] = {amount.allocatable, amount.before, amount.after};
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json encode_pods(const Report& report) {
  TextTable namespaces, owners;
  Json columns;
  for (const char* column : {"name", "namespace", "owner", "node", "role", "cpu", "memory"})
    columns[column] = Json::array();
  for (const ReportPod& pod : report.pods) {
    columns["name"].push_back(pod.name);
    columns["namespace"].push_back(namespaces.number_of(pod.ns));
    columns["owner"].push_back(owners.number_of(pod.owner));
    columns["node"].push_back(position_of(pod.node));
    columns["role"].push_back(static_cast<int>(pod.role));
    columns["cpu"].push_back(pod.cpu);
    columns["memory"].push_back(pod.memory);
  }
  columns["namespaces"] = std::move(namespaces).texts();
  columns["owners"] = std::move(owners).texts();
  return columns;
}

Json encode_moves(const Report& report) {
  Json rows = Json::array();
  for (const ReportMove& move : report.moves) {
    rows.push_back({{"pod", move.pod},
                    {"to", position_of(move.to)},
                    {"wave", move.wave},
                    {"empties", move.empties_node},
                    {"strategy", move.strategy},
                    {"reason", move.reason}});
    if (move.score) rows.back()["score"] = *move.score;
  }
  return rows;
}

Json encode_bounds(const Report& report) {
  Json rows = Json::array();
  for (const ReportBound& bound : report.bounds) {
    rows.push_back({{"strategy", bound.strategy},
                    {"busy", bound.busy},
                    {"freed", bound.freed},
                    {"most", bound.most},
                    {"reason", bound.reason},
                    {"note", bound.note}});
  }
  return rows;
}

Json encode_held(const Report& report) {
  Json rows = Json::array();
  for (const ReportHold& hold : report.held) {
    rows.push_back(
        {{"node", position_of(hold.node)}, {"pod", hold.pod}, {"reason", hold.reason}, {"message", hold.message}});
  }
  return rows;
}

Json encode_totals(const Report& report) {
  Json shares, histograms;
  for (const Resource resource : kResources) {
    const auto at = static_cast<std::size_t>(resource);
    const std::string name(to_string(resource));
    shares[name] = {report.busy_share[at].before, report.busy_share[at].after};
    histograms[name] = {{"before", report.histograms[at].before}, {"after", report.histograms[at].after}};
  }
  return {{"busyBefore", report.busy_before}, {"busyAfter", report.busy_after}, {"freed", report.freed()},
          {"pending", report.pending},        {"busyShare", std::move(shares)}, {"histograms", std::move(histograms)}};
}

}  // namespace

Json encode_report(const Report& report) {
  Json refused = Json::array();
  for (const api::ReasonCount& each : report.refused)
    refused.push_back({{"reason", each.reason}, {"count", each.count}});
  return {{"format", kReportFormat},     {"version", EVACUATOR_VERSION},    {"policy", report.policy},
          {"now", report.now},           {"totals", encode_totals(report)}, {"nodes", encode_nodes(report)},
          {"pods", encode_pods(report)}, {"moves", encode_moves(report)},   {"bounds", encode_bounds(report)},
          {"held", encode_held(report)}, {"refused", std::move(refused)},   {"warnings", report.warnings}};
}

}  // namespace report
