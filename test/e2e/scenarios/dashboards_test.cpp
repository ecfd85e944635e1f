// The dashboards of config/chart/dashboards on a real Prometheus that scrapes a working operator: every query of every
// panel has data. The metrics of the operator match docs/reference/metrics.md.

#include <cmath>
#include <regex>
#include <sstream>

#include "test/e2e/harness/scenario.hpp"
#include "test/e2e/prometheus/real_prometheus.hpp"

namespace e2e {
namespace dashboards_test {

constexpr int kDashboards = 4;

std::string encoded(const std::string& text) {
  std::string out;
  for (const unsigned char c : text) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%%%02X", c);
    if (std::isalnum(c) != 0) {
      out += static_cast<char>(c);
    } else {
      out += hex;
    }
  }
  return out;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

/// A metric family in the documentation or of the operator.
struct Family {
  std::string type;
  std::set<std::string> labels;
};
using Families = std::map<std::string, Family>;

/// Reads rows "| `name` | type | label, label | …".
Families documented() {
  Families all;
  std::istringstream page(read_file(std::string(EVACUATOR_SOURCE_DIR) + "/docs/reference/metrics.md"));
  const std::regex row(R"(^\| `([a-z_]+)` \| ([a-z]+) \|([^|]*)\|.*)");
  const std::regex word("[a-z_]+");
  for (std::string line; std::getline(page, line);) {
    std::smatch found;
    if (!std::regex_match(line, found, row)) continue;
    const std::string labels = found[3];
    Family& family = all[found[1]];
    family.type = found[2];
    for (std::sregex_iterator each(labels.begin(), labels.end(), word), end; each != end; ++each)
      family.labels.insert(each->str());
  }
  return all;
}

Families served(const std::string& exposition) {
  Families all;
  std::istringstream text(exposition);
  const std::regex label(R"re(([a-z_]+)="(?:[^"\\]|\\.)*")re");
  std::string name;
  for (std::string line; std::getline(text, line);) {
    if (line.rfind("# TYPE ", 0) == 0) {
      std::istringstream words(line.substr(7));
      words >> name >> all[name].type;
    } else if (!line.empty() && line[0] != '#') {
      for (std::sregex_iterator each(line.begin(), line.end(), label), end; each != end; ++each)
        if (each->str(1) != "le") all[name].labels.insert(each->str(1));
    }
  }
  return all;
}

class Dashboards : public Scenario {
 protected:
  /// Returns a query that reports each node as busy, so that a balancing strategy has results.
  Json query_of_nodes() const {
    std::string text;
    for (const std::string& node : nodes()) {
      if (!text.empty()) text += " or ";
      text += "label_replace(vector(0.5), \"node\", \"" + node + "\", \"\", \"\")";
    }
    return {{"resource", "cpu"}, {"query", text}};
  }
  Json policy(const std::string& prometheus) const {
    const Json life = {{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 3}}}};
    const Json balance = {
        {"name", "LowNodeUtilization"},
        {"args",
         {{"usage", {{"source", "prometheus"}}}, {"thresholds", {{"cpu", 1}}}, {"targetThresholds", {{"cpu", 99}}}}}};
    return manifest::pod_life_time_policy(
        ns(), ns(), 3,
        {{"mode", "Automatic"},
         {"evictability", {{"minReplicas", 2}, {"namespaces", {{"include", Json::array({ns()})}}}}},
         {"gates", Json::array({{{"name", "quiet"},
                                 {"interval", "5s"},
                                 {"prometheus", {{"url", prometheus}, {"query", "vector(0)"}}}}})},
         {"usageSources",
          Json::array({{{"name", "prometheus"},
                        {"type", "Prometheus"},
                        {"interval", "5s"},
                        {"smoothing", {{"method", "Latest"}}},
                        {"prometheus", {{"url", prometheus}, {"queries", Json::array({query_of_nodes()})}}}}})},
         {"strategies", Json::array({life, balance})}});
  }

  /// Starts the evacuation of a pod that a budget blocks. Returns the name of the Evacuation once an answer confirms
  /// it.
  std::string hold(const std::string& app) {
    const PodInfo held = deploy({.ns = ns(), .name = app, .replicas = 1}).at(0);
    kubectl().apply(manifest::pod_disruption_budget(cluster().pdb_version(), ns(), app, 1));
    const std::string name = evacuate(held);
    await("a blocked answer for " + app, [&](std::string& seen) {
      const Json evacuation = api().get(path::evacuations(ns(), name));
      seen = summary(evacuation);
      return !text_at(evacuation, "/status/blockedSince").empty();
    });
    return name;
  }
  /// One pod stays blocked. The block of another one ends, which is when its blocked time is counted.
  void hold_some() {
    hold("held");
    const std::string name = hold("released");
    kubectl()({"delete", "pdb", "-n", ns(), "released-budget"});
    await_phase(ns(), name, kFinished);
  }

  /// Replaces Grafana's variables.
  std::string filled_in(std::string query) const {
    query = replaced(query, "$__rate_interval", "20s");
    query = replaced(query, "$__range", "5m");
    query = replaced(query, "$policy", ns());
    return replaced(query, "$evictor", ".*");
  }

  /// Returns true if a series has a finite value.
  static bool has_data(const Json& answer) {
    const Json::json_pointer at("/data/result");
    if (!answer.contains(at)) return false;
    for (const Json& each : answer.at(at)) {
      if (std::isfinite(std::strtod(text_at(each, "/value/1").c_str(), nullptr))) return true;
    }
    return false;
  }
  /// Returns the queries of all panels of a dashboard by location.
  std::map<std::string, std::string> queries_of(const Json& board) const {
    std::map<std::string, std::string> all;
    for (const Json& panel : board.at("panels")) {
      for (const Json& target : panel.value("targets", Json::array()))
        all[text_at(board, "/title") + ", " + text_at(panel, "/title") + ", " + text_at(target, "/refId")] =
            filled_in(text_at(target, "/expr"));
    }
    return all;
  }
  std::map<std::string, std::string> all_queries(int& boards) const {
    std::map<std::string, std::string> all;
    for (const auto& file :
         std::filesystem::directory_iterator(std::string(EVACUATOR_SOURCE_DIR) + "/config/chart/dashboards")) {
      if (file.path().extension() != ".json") continue;
      all.merge(queries_of(Json::parse(read_file(file.path()))));
      ++boards;
    }
    return all;
  }
  /// Waits until each query has had data at least once.
  static void await_data(const RealPrometheus& prometheus, std::map<std::string, std::string> queries) {
    const Api http(prometheus.port());
    await("data of every query", [&](std::string& seen) {
      seen.clear();
      for (auto each = queries.begin(); each != queries.end();) {
        const HttpAnswer answer = http.request("GET", "/api/v1/query?query=" + encoded(each->second));
        const bool is_there = answer.code == 200 && has_data(Json::parse(answer.body, nullptr, false));
        if (!is_there) seen += each->first + ": " + each->second + "\n    " + answer.body + "\n";
        each = is_there ? queries.erase(each) : std::next(each);
      }
      return queries.empty();
    });
  }
};

TEST_F(Dashboards, EveryPanelShowsDataOfARealPrometheus) {
  const Operator& op = start_operator();
  const Folder data;
  const RealPrometheus prometheus(data, {.scrape = op.metrics_port()});
  deploy({.ns = ns(), .name = "web", .replicas = 3});
  deploy({.ns = ns(), .name = "alone", .replicas = 1});
  hold_some();
  apply_policy(policy("http://" + prometheus.address()));

  int boards = 0;
  const auto queries = all_queries(boards);
  EXPECT_EQ(boards, kDashboards);
  for (const auto& [where, query] : queries) ASSERT_EQ(query.find('$'), std::string::npos) << where << ": " << query;
  await_data(prometheus, queries);
  note(std::to_string(queries.size()) + " queries of " + std::to_string(boards) + " dashboards have data");

  const Families known = documented();
  const Families now = served(op.metrics());
  EXPECT_GE(now.size(), 40U);
  for (const auto& [name, family] : now) {
    const auto row = known.find(name);
    if (row == known.end()) {
      ADD_FAILURE() << name << " is not in docs/reference/metrics.md";
      continue;
    }
    EXPECT_EQ(row->second.type, family.type) << name;
    for (const std::string& label : family.labels)
      EXPECT_TRUE(row->second.labels.contains(label)) << name << " has the label " << label;
    EXPECT_FALSE(family.labels.contains("pod")) << name;
  }
  note(std::to_string(now.size()) + " families, " + std::to_string(std::ranges::count(op.metrics(), '\n')) +
       " lines of /metrics");
}

TEST_F(Dashboards, SeriesOfAPolicyGoWithIt) {
  const Operator& op = start_operator();
  deploy({.ns = ns(), .name = "web", .replicas = 2});
  apply_policy(manifest::pod_life_time_policy(ns(), ns(), 1, {{"mode", "Automatic"}}));
  const std::string mine = "policy=\"" + ns() + "\"";
  await("evictions of the policy", [&](std::string& seen) {
    seen = op.metrics();
    return seen.find("evacuator_policy_evicted_pods{" + mine + "} 2") != std::string::npos;
  });
  kubectl()({"delete", "dsp", ns()});
  await("its series to be gone", [&](std::string& seen) {
    seen = op.metrics();
    return seen.find(mine) == std::string::npos;
  });
  await("its Evacuations to end", [&](std::string& seen) {
    const auto all = api().list(path::evacuations(ns()));
    seen = std::to_string(all.size());
    return std::ranges::all_of(all, [](const Json& each) { return kFinished.contains(phase_of(each)); });
  });
  EXPECT_EQ(op.metrics().find(mine), std::string::npos) << "they came back";
}

}  // namespace dashboards_test
}  // namespace e2e
