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
#include <utility>
#include <vector>

#include "api/meta/well_known.hpp"
#include "test/scenarios/fragmentation/judge.hpp"

namespace fragmentation {
namespace {

constexpr double kRounding = 1e-6;

/// Mebibytes and millicores keep the coefficients of the problem close together. `up` rounds up for requests;
/// capacities are rounded down.
std::int64_t rounded(const api::ResourceList& list, const std::string& resource, bool up) {
  const api::Quantity amount = api::amount_of(list, resource);
  constexpr std::int64_t kMi = std::int64_t{1} << 20;
  if (resource == "memory") return (amount.units() + (up ? kMi - 1 : 0)) / kMi;
  return resource == "cpu" ? amount.milli() : amount.units();
}

using AskedByName = std::map<std::string, std::int64_t>;

struct NodeRow {
  const api::Node* node;
  AskedByName offers{};
};

/// A rule between pods.
struct Rule {
  enum class About { kRepels, kNeeds, kSpreads, kPort };
  About about;
  std::string topology;
  api::LabelSelector selector{};
  std::int32_t port = 0;
  friend bool operator==(const Rule&, const Rule&) = default;
};

/// Pods that are equal for the rules.
struct PodClass {
  const api::Pod* pod;  ///< a representative
  AskedByName asks{};
  bool is_fixed = false;
  std::string places{};   ///< '1' for each node that they may use
  std::string carries{};  ///< '1' for each rule that they have
  std::string meant{};    ///< '1' for each rule that selects them
  std::map<std::size_t, int> on{};
  int count = 0;

  auto key() const { return std::tuple(asks, is_fixed, places, carries, meant); }
};

class Problem {
 public:
  explicit Problem(const scheduling::SnapshotInput& cluster) : cluster_(cluster) {
    std::map<std::string, std::size_t> by_name;
    for (const auto& node : cluster.nodes) {
      by_name[node->meta.name] = nodes_.size();
      nodes_.push_back({node.get()});
      for (const auto& [name, amount] : node->allocatable)
        nodes_.back().offers[std::string(name)] = rounded(node->allocatable, std::string(name), false);
    }
    for (const auto& pod : cluster.pods) {
      if (!pod->is_daemon_set()) find_rules(*pod);
    }
    for (const auto& pod : cluster.pods) add(*pod, by_name.at(pod->node_name.value));
  }

  std::string text(const ExactQuestion& question) {
    text_ = "Minimize\n obj:";
    if (question.most_busy) {
      for_each_move([&](const std::string& name) { text_ += fmt::format("\n + {}", name); });
    } else {
      for (std::size_t n = 0; n < nodes_.size(); ++n) text_ += fmt::format("\n + y{}", n);
    }
    text_ += "\nSubject To\n";
    add_counts();
    add_room();
    for (std::size_t r = 0; r < rules_.size(); ++r) add_rule(r);
    if (question.most_busy) add_moves(*question.most_busy);
    add_kinds_of_variables(question.most_busy.has_value());
    return std::move(text_);
  }

 private:
  void add_row(const std::string& row) { text_ += fmt::format(" r{}: {}\n", ++count_of_rows_, row); }

  void find_rules(const api::Pod& pod) {
    for (const Rule& rule : rules_of(pod)) {
      if (std::ranges::find(rules_, rule) == rules_.end()) rules_.push_back(rule);
    }
  }

  static std::vector<Rule> rules_of(const api::Pod& pod) {
    std::vector<Rule> rules;
    if (pod.affinity) {
      for (const auto& term : pod.affinity->required_pod_anti_affinity)
        rules.push_back({Rule::About::kRepels, term.topology_key, *term.label_selector});
      for (const auto& term : pod.affinity->required_pod_affinity)
        rules.push_back({Rule::About::kNeeds, term.topology_key, *term.label_selector});
    }
    for (const auto& constraint : pod.topology_spread) {
      // With a larger skew, pods that stay may be in a domain that new ones may not enter.
      if (constraint.max_skew == 1)
        rules.push_back({Rule::About::kSpreads, constraint.topology_key, *constraint.label_selector});
    }
    for (const std::int32_t port : ports_of(pod))
      rules.push_back({Rule::About::kPort, std::string(api::well_known::kHostnameLabel), {}, port});
    return rules;
  }

  void add(const api::Pod& pod, std::size_t node) {
    PodClass found{&pod};
    for (const api::Container& container : pod.containers) {
      for (const auto& [name, amount] : container.requests)
        found.asks[std::string(name)] += rounded(container.requests, std::string(name), true);
    }
    std::erase_if(found.asks, [](const auto& each) { return each.second == 0; });
    found.asks["pods"] = 1;
    if (pod.is_daemon_set()) {
      for (const auto& [name, amount] : found.asks) nodes_[node].offers[name] -= amount;
      return;
    }
    found.is_fixed = stays(pod);
    for (const NodeRow& row : nodes_) found.places += may_be_on(pod, *row.node) ? '1' : '0';
    const std::vector<Rule> own = rules_of(pod);
    for (const Rule& rule : rules_) {
      const bool carries = std::ranges::find(own, rule) != own.end();
      found.carries += carries ? '1' : '0';
      const bool is_meant = rule.about == Rule::About::kPort ? carries : rule.selector.matches(pod.meta.labels);
      found.meant += is_meant ? '1' : '0';
    }
    const auto [at, is_new] = by_key_.try_emplace(found.key(), classes_.size());
    if (is_new) classes_.push_back(found);
    PodClass& known = classes_[at->second];
    ++known.on[node];
    ++known.count;
  }

  bool may_be_on(const api::Pod& pod, const api::Node& node) const {
    return node.meta.name == pod.node_name.value ||
           (selects(pod, node) && tolerates(pod, node) && volumes_reach(pod, node));
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

  static int now_on(const PodClass& of, std::size_t n) {
    const auto at = of.on.find(n);
    return at == of.on.end() ? 0 : at->second;
  }
  /// Returns the maximum number of pods of the class on the node.
  std::int64_t most_on(const PodClass& of, std::size_t n) const {
    const int now = now_on(of, n);
    if (of.is_fixed || of.places[n] == '0') return now;
    std::int64_t most = of.count;
    for (const auto& [name, amount] : of.asks) {
      const auto offer = nodes_[n].offers.find(name);
      most = std::min(most, offer == nodes_[n].offers.end() ? 0 : std::max<std::int64_t>(offer->second, 0) / amount);
    }
    return std::max<std::int64_t>(most, now);
  }
  bool has_variable(const PodClass& of, std::size_t n) const { return most_on(of, n) > 0; }
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

  void add_counts() {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      std::string sum;
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (has_variable(classes_[c], n)) sum += " + " + count_name(c, n);
      }
      add_row(fmt::format("{} = {}", sum, classes_[c].count));
    }
  }

  void add_room() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      for (const auto& [name, offer] : nodes_[n].offers) {
        std::string sum;
        for (std::size_t c = 0; c < classes_.size(); ++c) {
          const auto asked = classes_[c].asks.find(name);
          if (asked != classes_[c].asks.end() && has_variable(classes_[c], n))
            sum += fmt::format("\n + {} {}", asked->second, count_name(c, n));
        }
        if (!sum.empty()) add_row(fmt::format("{}\n - {} y{} <= 0", sum, std::max<std::int64_t>(offer, 0), n));
      }
    }
    // Implied by the rows above for integers, but not in the linear relaxation.
    for_each_variable([&](std::size_t c, std::size_t n) {
      add_row(fmt::format("{} - {} y{} <= 0", count_name(c, n), most_on(classes_[c], n), n));
    });
  }

  // --- rules

  struct Part {
    std::size_t c;
    std::size_t n;
  };
  /// Returns the selected classes and nodes by domain, in the order of the first nodes.
  template <typename F>
  std::map<std::string, std::vector<Part>> parts_of(const Rule& rule, F&& is_wanted) const {
    std::map<std::string, std::vector<Part>> parts;
    for_each_variable([&](std::size_t c, std::size_t n) {
      const std::string* domain = nodes_[n].node->meta.labels.find(rule.topology);
      if (domain != nullptr && is_wanted(classes_[c])) parts[*domain].push_back({c, n});
    });
    return parts;
  }
  static std::string sum_of(const std::vector<Part>& parts) {
    std::string sum;
    for (const Part& part : parts) sum += " + " + count_name(part.c, part.n);
    return sum;
  }

  void add_rule(std::size_t r) {
    const auto carries = [r](const PodClass& of) { return of.carries[r] == '1'; };
    const auto is_meant = [r](const PodClass& of) { return of.meant[r] == '1'; };
    switch (rules_[r].about) {
      case Rule::About::kPort:
      case Rule::About::kRepels: return add_repulsion(r, carries, is_meant);
      case Rule::About::kNeeds: return add_needs(r, carries, is_meant);
      case Rule::About::kSpreads: return add_spread(r, carries, is_meant);
    }
  }

  template <typename Carries, typename Meant>
  void add_repulsion(std::size_t r, Carries&& carries, Meant&& is_meant) {
    const Rule& rule = rules_[r];
    for (const auto& part_of_domain : parts_of(rule, [&](const auto& c) { return carries(c) && is_meant(c); })) {
      const std::vector<Part>& both = part_of_domain.second;
      const bool is_node = std::ranges::all_of(both, [&](const Part& part) { return part.n == both[0].n; });
      add_row(
          fmt::format("{} {} <= {}", sum_of(both), is_node ? fmt::format("- y{}", both[0].n) : "", is_node ? 0 : 1));
    }
    auto others = parts_of(rule, [&](const auto& c) { return !carries(c) && is_meant(c); });
    for (const auto& [domain, owners] : parts_of(rule, carries)) {
      if (others[domain].empty()) continue;
      const std::string is_closed = fmt::format("z{}_{}", r, count_of_domains_++);
      binaries_.push_back(is_closed);
      for (const auto& [c, n] : owners)
        add_row(fmt::format("{} - {} {} <= 0", count_name(c, n), most_on(classes_[c], n), is_closed));
      for (const auto& [c, n] : others[domain]) {
        const std::int64_t most = most_on(classes_[c], n);
        add_row(fmt::format("{} + {} {} <= {}", count_name(c, n), most, is_closed, most));
      }
    }
  }

  template <typename Carries, typename Meant>
  void add_needs(std::size_t r, Carries&& carries, Meant&& is_meant) {
    auto wanted = parts_of(rules_[r], is_meant);
    for (const auto& [domain, owners] : parts_of(rules_[r], carries)) {
      for (const auto& [c, n] : owners) {
        if (is_meant(classes_[c])) continue;  // the first of them may be alone
        std::string row = count_name(c, n);
        for (const Part& part : wanted[domain])
          row += fmt::format(" - {} {}", most_on(classes_[c], n), count_name(part.c, part.n));
        add_row(fmt::format("{} <= {}", row, now_on(classes_[c], n)));  // pods that stay may be left alone
      }
    }
  }

  /// If all counted pods have the constraint and satisfy it now, the result must satisfy it, too.
  template <typename Carries, typename Meant>
  void add_spread(std::size_t r, Carries&& carries, Meant&& is_meant) {
    const auto counts = [&](const PodClass& of) { return is_meant(of) && of.pod->node_selector.empty(); };
    std::map<std::string, int> now;
    for (const NodeRow& row : nodes_) {
      if (const std::string* domain = row.node->meta.labels.find(rules_[r].topology)) now[*domain] = 0;
    }
    for (const PodClass& of : classes_) {
      if (is_meant(of) && (!carries(of) || !counts(of))) return;
      for (const auto& [n, count] : of.on) {
        if (is_meant(of)) now[nodes_[n].node->meta.labels.value(rules_[r].topology)] += count;
      }
    }
    const auto [least, most] = std::ranges::minmax_element(now, {}, [](const auto& each) { return each.second; });
    if (now.empty() || most->second - least->second > 1) return;
    auto parts = parts_of(rules_[r], is_meant);
    const std::string fewest = fmt::format("f{}", r);
    generals_.push_back(fewest);
    for (const auto& [domain, count] : now) {
      const std::string sum = parts[domain].empty() ? " 0 y0" : sum_of(parts[domain]);
      add_row(fmt::format("{} - {} >= 0", sum, fewest));
      add_row(fmt::format("{} - {} <= 1", sum, fewest));
    }
  }

  void add_moves(int most_busy) {
    for_each_variable([&](std::size_t c, std::size_t n) {
      const int now = now_on(classes_[c], n);
      if (!classes_[c].is_fixed && now > 0) add_row(fmt::format("m{}_{} + {} >= {}", c, n, count_name(c, n), now));
    });
    std::string busy;
    for (std::size_t n = 0; n < nodes_.size(); ++n) busy += fmt::format(" + y{}", n);
    add_row(fmt::format("{} <= {}", busy, most_busy));
  }

  void add_kinds_of_variables(bool with_moves) {
    text_ += "Bounds\n";
    for_each_variable([&](std::size_t c, std::size_t n) {
      if (classes_[c].is_fixed) text_ += fmt::format(" {} = {}\n", count_name(c, n), now_on(classes_[c], n));
    });
    text_ += "Generals\n";
    for_each_variable([&](std::size_t c, std::size_t n) { text_ += " " + count_name(c, n) + "\n"; });
    for (const std::string& name : generals_) text_ += " " + name + "\n";
    if (with_moves) for_each_move([&](const std::string& name) { text_ += " " + name + "\n"; });
    text_ += "Binaries\n";
    for (std::size_t n = 0; n < nodes_.size(); ++n) text_ += fmt::format(" y{}\n", n);
    for (const std::string& name : binaries_) text_ += " " + name + "\n";
    text_ += "End\n";
  }

  const scheduling::SnapshotInput& cluster_;
  std::vector<NodeRow> nodes_;
  std::vector<PodClass> classes_;
  std::map<decltype(std::declval<PodClass>().key()), std::size_t> by_key_;
  std::vector<Rule> rules_;
  std::string text_;
  std::vector<std::string> generals_;  ///< variables in addition to those of for_each_variable()
  std::vector<std::string> binaries_;
  int count_of_rows_ = 0;
  int count_of_domains_ = 0;
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
