#include "test/scenarios/fragmentation/exact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>
#include <vector>

#include "api/meta/well_known.hpp"
#include "test/scenarios/fragmentation/judge.hpp"

namespace fragmentation {
namespace {

constexpr double kRounding = 1e-6;

std::int64_t cpu_of(const api::ResourceList& list) { return api::amount_of(list, "cpu").milli(); }
/// Mebibytes keep the numbers of the problem close together. `up`: what is asked for; else what is offered.
std::int64_t memory_of(const api::ResourceList& list, bool up) {
  constexpr std::int64_t kMi = std::int64_t{1} << 20;
  return (api::amount_of(list, "memory").units() + (up ? kMi - 1 : 0)) / kMi;
}

struct NodeRow {
  const api::Node* node;
  std::int64_t cpu;
  std::int64_t memory;
  std::int64_t pods;
};

/// Pods that are equal for the rules.
struct PodClass {
  const api::Pod* pod;  ///< one of them
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  bool is_fixed = false;
  std::string app{};  ///< "": it repels nobody and nobody repels it
  std::map<std::size_t, int> on{};
  int count = 0;
};

std::string app_of(const api::Pod& pod) {
  const std::string* app = pod.meta.labels.find("app");
  return app == nullptr ? "" : *app;
}

bool repels(const api::Pod& one, const api::Pod& two) {
  if (!one.affinity) return false;
  return std::ranges::any_of(one.affinity->required_pod_anti_affinity, [&](const api::PodAffinityTerm& term) {
    return term.topology_key == api::well_known::kHostnameLabel && term.label_selector &&
           term.label_selector->matches(two.meta.labels);
  });
}

class Problem {
 public:
  explicit Problem(const scheduling::SnapshotInput& cluster) : cluster_(cluster) {
    std::map<std::string, std::size_t> by_name;
    for (const auto& node : cluster.nodes) {
      by_name[node->meta.name] = nodes_.size();
      nodes_.push_back({node.get(), cpu_of(node->allocatable), memory_of(node->allocatable, false),
                        api::amount_of(node->allocatable, "pods").units()});
    }
    find_apps();
    for (const auto& pod : cluster.pods) add(*pod, by_name.at(pod->node_name.value));
  }

  std::string text(const ExactQuestion& question) const {
    std::string text = "Minimize\n obj:";
    if (question.most_busy) {
      for_each_move([&](const std::string& name) { text += fmt::format("\n + {}", name); });
    } else {
      for (std::size_t n = 0; n < nodes_.size(); ++n) text += fmt::format("\n + y{}", n);
    }
    text += "\nSubject To\n";
    add_counts(text);
    add_room(text);
    add_repulsion(text);
    if (question.most_busy) add_moves(text, *question.most_busy);
    add_kinds_of_variables(text, question.most_busy.has_value());
    return text;
  }

 private:
  /// Apps of which some pod repels, or is repelled.
  void find_apps() {
    std::map<std::string, const api::Pod*> one_of;
    for (const auto& pod : cluster_.pods) one_of.emplace(app_of(*pod), pod.get());
    for (const auto& [app, pod] : one_of) {
      for (const auto& [other_app, other] : one_of) {
        if (repels(*pod, *other)) repelling_.emplace_back(app, other_app);
      }
    }
  }
  bool matters(const std::string& app) const {
    return std::ranges::any_of(repelling_, [&](const auto& pair) { return pair.first == app || pair.second == app; });
  }

  void add(const api::Pod& pod, std::size_t node) {
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    for (const api::Container& container : pod.containers) {
      cpu += cpu_of(container.requests);
      memory += memory_of(container.requests, true);
    }
    if (pod.is_daemon_set()) {
      nodes_[node].cpu -= cpu;
      nodes_[node].memory -= memory;
      nodes_[node].pods -= 1;
      return;
    }
    PodClass found{&pod, cpu, memory, stays(pod), matters(app_of(pod)) ? app_of(pod) : ""};
    std::string places;
    for (std::size_t n = 0; n < nodes_.size(); ++n) places += may_be_on(found, n) ? '1' : '0';
    const std::tuple key(found.cpu, found.memory, found.is_fixed, found.app, places);
    const auto [at, is_new] = by_key_.try_emplace(key, classes_.size());
    if (is_new) classes_.push_back(found);
    PodClass& known = classes_[at->second];
    ++known.on[node];
    ++known.count;
  }

  bool may_be_on(const PodClass& of, std::size_t n) const {
    const api::Node& node = *nodes_[n].node;
    if (node.meta.name == of.pod->node_name.value) return true;
    for (const auto& [key, value] : of.pod->node_selector) {
      const std::string* has = node.meta.labels.find(key);
      if (has == nullptr || *has != value) return false;
    }
    for (const api::Taint& taint : node.taints) {
      const auto tolerates = [&](const api::Toleration& each) { return each.tolerates(taint); };
      if (taint.effect != api::TaintEffect::kPreferNoSchedule && std::ranges::none_of(of.pod->tolerations, tolerates))
        return false;
    }
    return volumes_reach(*of.pod, node);
  }

  bool volumes_reach(const api::Pod& pod, const api::Node& node) const {
    for (const api::Volume& volume : pod.volumes) {
      for (const auto& pv : cluster_.volumes) {
        if (pv->meta.name != "pv-" + volume.source) continue;
        for (const api::NodeSelectorTerm& term : pv->required_node_terms) {
          for (const auto& each : term.match_expressions) {
            if (!each.matches(node.meta.labels)) return false;
          }
        }
      }
    }
    return true;
  }

  int now_on(const PodClass& of, std::size_t n) const {
    const auto at = of.on.find(n);
    return at == of.on.end() ? 0 : at->second;
  }
  bool has_variable(const PodClass& of, std::size_t n) const {
    return now_on(of, n) > 0 || (!of.is_fixed && may_be_on(of, n));
  }
  static std::string count_name(std::size_t c, std::size_t n) { return fmt::format("x{}_{}", c, n); }
  template <typename F>
  void for_each_variable(F&& each) const {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (has_variable(classes_[c], n)) each(c, n);
      }
    }
  }
  template <typename F>
  void for_each_move(F&& each) const {
    for_each_variable([&](std::size_t c, std::size_t n) {
      if (!classes_[c].is_fixed && now_on(classes_[c], n) > 0) each(fmt::format("m{}_{}", c, n));
    });
  }

  void add_counts(std::string& text) const {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      text += fmt::format("all{}:", c);
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (has_variable(classes_[c], n)) text += " + " + count_name(c, n);
      }
      text += fmt::format(" = {}\n", classes_[c].count);
    }
  }

  void add_room(std::string& text) const {
    const auto row = [&](const char* name, std::size_t n, std::int64_t capacity, auto&& amount_of) {
      text += fmt::format("{}{}:", name, n);
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        if (has_variable(classes_[c], n) && amount_of(classes_[c]) > 0)
          text += fmt::format("\n + {} {}", amount_of(classes_[c]), count_name(c, n));
      }
      text += fmt::format("\n - {} y{} <= 0\n", std::max<std::int64_t>(capacity, 0), n);
    };
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      row("cpu", n, nodes_[n].cpu, [](const PodClass& of) { return of.cpu; });
      row("mem", n, nodes_[n].memory, [](const PodClass& of) { return of.memory; });
      row("pods", n, nodes_[n].pods, [](const PodClass&) { return std::int64_t{1}; });
    }
  }

  std::string sum_of(const std::string& app, std::size_t n) const {
    std::string sum;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (classes_[c].app == app && has_variable(classes_[c], n)) sum += " + " + count_name(c, n);
    }
    return sum;
  }

  void add_repulsion(std::string& text) const {
    for (std::size_t i = 0; i < repelling_.size(); ++i) {
      const auto& [app, other] = repelling_[i];
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        const std::string those = sum_of(other, n);
        if (those.empty()) continue;
        if (app == other) text += fmt::format("anti{}_{}:{} - y{} <= 0\n", i, n, those, n);
        if (app == other) continue;
        text += fmt::format("anti{}_{}:{} + {} z{}_{} <= {}\n", i, n, those, nodes_[n].pods, i, n, nodes_[n].pods);
        if (const std::string these = sum_of(app, n); !these.empty())
          text += fmt::format("some{}_{}:{} - {} z{}_{} <= 0\n", i, n, these, nodes_[n].pods, i, n);
      }
    }
  }

  void add_moves(std::string& text, int most_busy) const {
    for_each_variable([&](std::size_t c, std::size_t n) {
      const int now = now_on(classes_[c], n);
      if (!classes_[c].is_fixed && now > 0)
        text += fmt::format("move{}_{}: m{}_{} + {} >= {}\n", c, n, c, n, count_name(c, n), now);
    });
    text += "busy:";
    for (std::size_t n = 0; n < nodes_.size(); ++n) text += fmt::format(" + y{}", n);
    text += fmt::format(" <= {}\n", most_busy);
  }

  void add_kinds_of_variables(std::string& text, bool with_moves) const {
    text += "Bounds\n";
    for_each_variable([&](std::size_t c, std::size_t n) {
      if (classes_[c].is_fixed) text += fmt::format(" {} = {}\n", count_name(c, n), now_on(classes_[c], n));
    });
    text += "Generals\n";
    for_each_variable([&](std::size_t c, std::size_t n) { text += " " + count_name(c, n) + "\n"; });
    if (with_moves) for_each_move([&](const std::string& name) { text += " " + name + "\n"; });
    text += "Binaries\n";
    for (std::size_t n = 0; n < nodes_.size(); ++n) text += fmt::format(" y{}\n", n);
    for (std::size_t i = 0; i < repelling_.size(); ++i) {
      if (repelling_[i].first == repelling_[i].second) continue;
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (!sum_of(repelling_[i].second, n).empty()) text += fmt::format(" z{}_{}\n", i, n);
      }
    }
    text += "End\n";
  }

  const scheduling::SnapshotInput& cluster_;
  std::vector<NodeRow> nodes_;
  std::vector<PodClass> classes_;
  std::map<std::tuple<std::int64_t, std::int64_t, bool, std::string, std::string>, std::size_t> by_key_;
  std::vector<std::pair<std::string, std::string>> repelling_;  ///< apps: the first repels the second
};

std::optional<double> number_after(const std::string& text, const std::string& label) {
  const std::size_t at = text.rfind(label);
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(text.c_str() + at + label.size(), nullptr);
}

}  // namespace

std::string exact_problem(const scheduling::SnapshotInput& cluster, const ExactQuestion& question) {
  return Problem(cluster).text(question);
}

bool has_solver() {
  const auto answer = solve("Minimize\n obj: x\nSubject To\n least: x >= 2\nGenerals\n x\nEnd\n", 10);
  return answer && answer->is_proven && answer->value == 2;
}

std::optional<ExactAnswer> solve(const std::string& problem, int seconds) {
  const std::string folder = std::filesystem::temp_directory_path() / "fragmentation-XXXXXX";
  std::vector<char> name(folder.begin(), folder.end());
  name.push_back('\0');
  if (mkdtemp(name.data()) == nullptr) return std::nullopt;
  const std::filesystem::path at(name.data());
  std::ofstream(at / "problem.lp") << problem;
  const std::string command =
      fmt::format("cbc {} sec {} timeMode elapsed solve 2>&1", (at / "problem.lp").string(), seconds);
  std::string output;
  if (FILE* pipe = popen(command.c_str(), "r")) {
    char buffer[4096];
    for (std::size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, got);
    pclose(pipe);
  }
  std::filesystem::remove_all(at);
  const bool is_proven = output.find("Result - Optimal solution found") != std::string::npos;
  const auto value = number_after(output, is_proven ? "Objective value:" : "Lower bound:");
  if (!value) return std::nullopt;
  return ExactAnswer{static_cast<int>(std::ceil(*value - kRounding)), is_proven};
}

}  // namespace fragmentation
