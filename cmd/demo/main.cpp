/// The program evacuator-demo: a simulated cluster, the operator and a script in one process.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/descheduler_policy.hpp"
#include "cmd/cli/parser.hpp"
#include "cmd/demo/cluster.hpp"
#include "cmd/demo/script.hpp"
#include "cmd/evacuation_view.hpp"
#include "cmd/output.hpp"
#include "cmd/signals.hpp"
#include "cmd/table.hpp"
#include "kube/config/process_environment.hpp"

namespace cmd {
namespace {

using base::milliseconds;

/// The program's flags.
struct DemoOptions {
  int port = 0;                ///< 0 selects a free port
  std::string duration;        ///< if empty, until the script is over; "forever" serves until Ctrl-C
  std::string kubeconfig_out;  ///< file for the kubeconfig; if empty, a temporary file
  bool plain = false;          ///< no colors, no redrawing
  double speed = 1.0;          ///< of the script
};

/// Output of the demo: narration and a table of Evacuations, redrawn in place or printed line by line.
class Screen {
 public:
  explicit Screen(bool plain) : plain_(plain) {}

  void say(const std::string& words) {
    leave_table();
    print_out("\n{}▶ {}{}\n", plain_ ? "" : "\033[1;36m", words, plain_ ? "" : "\033[0m");
    flush_out();
  }
  void print(const std::string& text) {
    leave_table();
    write_out(text);
    flush_out();
  }

  void show(const std::vector<api::Evacuation>& evacuations, base::TimePoint now) {
    if (plain_) return show_changes(evacuations, now);
    if (evacuations.empty()) return;
    Table table(evacuation_headers());
    for (const api::Evacuation& evacuation : newest(evacuations)) table.add_row(evacuation_cells(evacuation, now));
    erase_table();
    const std::string text = table.render("  ");
    drawn_lines_ = static_cast<int>(std::ranges::count(text, '\n'));
    write_out(text);
    flush_out();
  }

 private:
  static constexpr std::size_t kRows = 12;

  static std::vector<api::Evacuation> newest(std::vector<api::Evacuation> evacuations) {
    std::ranges::stable_sort(evacuations, {}, [](const api::Evacuation& e) { return e.meta.creation_timestamp; });
    if (evacuations.size() > kRows) evacuations.erase(evacuations.begin(), evacuations.end() - kRows);
    return evacuations;
  }

  /// Prints a line for each row whose significant cells changed, like kubectl get -w, for output that cannot be
  /// redrawn.
  void show_changes(const std::vector<api::Evacuation>& evacuations, base::TimePoint now) {
    for (const api::Evacuation& evacuation : evacuations) {
      const auto cells = evacuation_cells(evacuation, now);
      std::string telling;
      for (std::size_t i = 2; i + 1 < cells.size(); ++i) telling += cells[i] + "|";
      auto& last = last_seen_[evacuation.meta.key()];
      if (last == telling) continue;
      last = telling;
      const std::string blocked = cells[7].empty() ? "" : "  ← " + cells[7];
      print_out("  {:<8} {:<26} {:<8} {:<13} {:<24} {:<5} {:<8}{}\n", cells[0], cells[1], cells[2], cells[3], cells[4],
                cells[5], cells[6], blocked);
    }
    flush_out();
  }

  void erase_table() {
    if (drawn_lines_ > 0) print_out("\033[{}A\033[J", drawn_lines_);
    drawn_lines_ = 0;
  }
  void leave_table() { drawn_lines_ = 0; }

  bool plain_;
  int drawn_lines_ = 0;
  std::map<api::ObjectKey, std::string> last_seen_;
};

template <typename T>
std::vector<T> list_all(kube::Client& client, const kube::ResourceType& type,
                        base::Result<T> (*decode)(std::string_view)) {
  std::vector<T> all;
  (void)client.list(type, {}, [&](std::string_view item) -> base::Status {
    if (auto one = decode(item)) all.push_back(*std::move(one));
    return base::Done{};
  });
  return all;
}

base::Result<api::Evacuation> decode_one_evacuation(std::string_view text) { return api::decode_evacuation(text); }

/// Renders the CPU requests of active pods per node relative to allocatable CPU, as bars.
std::string utilization_of(kube::Client& client) {
  std::map<std::string, api::Quantity> used;
  std::map<std::string, int> pods;
  for (const api::Pod& pod : list_all(client, kube::kPods, api::decode_pod)) {
    if (pod.node_name.empty() || pod.is_terminal()) continue;
    for (const api::Container& container : pod.containers)
      used[pod.node_name.value] += api::amount_of(container.requests, "cpu");
    ++pods[pod.node_name.value];
  }
  Table table({"NODE", "CPU REQUESTED", "", "PODS"});
  for (const api::Node& node : list_all(client, kube::kNodes, api::decode_node)) {
    const auto all = api::amount_of(node.allocatable, "cpu");
    const double share =
        all.milli() > 0 ? static_cast<double>(used[node.meta.name].milli()) / static_cast<double>(all.milli()) : 0;
    table.add_row({node.meta.name, bar(share, 24),
                   fmt::format("{:3.0f}%{}", share * 100, node.unschedulable ? "  cordoned" : ""),
                   std::to_string(pods[node.meta.name])});
  }
  return table.render("  ");
}

/// Renders the published plan of a policy, empty if no plan is published.
std::string plan_of(kube::Client& client, const std::string& name) {
  const auto text = client.get(kube::kPolicies, {"", name});
  if (!text) return {};
  const auto policy = api::decode_descheduler_policy(std::string_view(*text));
  if (!policy || !policy->status.last_cycle) return {};
  Table table({"POD", "FROM", "TO", "STRATEGY", "WHY"});
  for (const api::PlannedMove& move : policy->status.plan) {
    table.add_row({move.ns + "/" + move.pod, move.from, move.to, move.strategy, move.reason});
  }
  return table.empty() ? "  (nothing to move)\n" : table.render("  ");
}

std::string invitation(const DemoCluster& cluster) {
  return fmt::format(
      "The simulated cluster answers kubectl at {}. In another terminal:\n\n"
      "  export KUBECONFIG={}\n"
      "  kubectl get nodes,pods -A\n"
      "  kubectl get evacuations -A -w\n"
      "  kubectl describe dsp balance\n"
      "  curl -s {}/metrics | grep evacuator_\n",
      cluster.server_url(), cluster.kubeconfig_path(), cluster.metrics_url());
}

class Play {
 public:
  Play(DemoCluster& cluster, const DemoOptions& options, bool plain)
      : cluster_(cluster), options_(options), screen_(plain), admin_(cluster.admin()) {}

  base::Status run(std::optional<base::Duration> total, const Interrupted& interrupted) {
    if (auto ready = open(); !ready) return ready;
    const base::TimePoint start = clock_.now();
    for (const ScriptStep& step : demo_script()) {
      if (!wait_until(start + scaled(step.at), total ? start + *total : base::TimePoint::max(), interrupted)) break;
      if (auto done = play(step, interrupted); !done) return done;
    }
    const base::TimePoint end = total ? start + *total : clock_.now() + base::seconds(3);
    wait_until(end, end, interrupted);
    screen_.print("\n  Afterwards:\n" + utilization_of(admin_));
    return base::Done{};
  }

 private:
  base::Duration scaled(base::Duration at) const {
    return base::Duration(static_cast<std::int64_t>(static_cast<double>(at.count()) / options_.speed));
  }

  base::Status open() {
    screen_.print(invitation(cluster_));
    if (auto set = create_initial_objects(admin_); !set) return set;
    cluster_.wait_until_settled();
    screen_.print("\n" + utilization_of(admin_));
    return base::Done{};
  }

  base::Status play(const ScriptStep& step, const Interrupted& interrupted) {
    screen_.say(step.words);
    if (auto done = step.act(admin_); !done) return done;
    if (step.show_plan_of.empty()) return base::Done{};
    std::string plan;
    for (const auto give_up = clock_.now() + base::seconds(10);
         plan.empty() && clock_.now() < give_up && !interrupted.yet();) {
      interrupted.wait(milliseconds(100));
      plan = plan_of(admin_, step.show_plan_of);
    }
    screen_.print(plan);
    return base::Done{};
  }

  /// Waits until `when` and shows the Evacuations meanwhile. Returns false if the demo is over.
  bool wait_until(base::TimePoint when, base::TimePoint end, const Interrupted& interrupted) {
    while (clock_.now() < std::min(when, end) && !interrupted.yet()) {
      screen_.show(list_all(admin_, kube::kEvacuations, decode_one_evacuation), clock_.now());
      interrupted.wait(milliseconds(250));
    }
    return !interrupted.yet() && clock_.now() < end;
  }

  DemoCluster& cluster_;
  const DemoOptions& options_;
  Screen screen_;
  kube::Client& admin_;
  base::SystemClock clock_;
};

base::Result<std::optional<base::Duration>> total_duration(const std::string& text) {
  if (text.empty()) return std::optional<base::Duration>();
  if (text == "forever") return std::optional<base::Duration>(std::chrono::hours(24 * 365));
  const auto duration = base::parse_duration(text);
  if (!duration || *duration <= base::Duration::zero()) {
    return base::invalid(fmt::format("--duration: \"{}\" is not a duration such as 90s or 2m, or 'forever'", text));
  }
  return std::optional<base::Duration>(*duration);
}

base::Status demo(const DemoOptions& options) {
  const auto total = total_duration(options.duration);
  if (!total) return total.error();
  const Interrupted interrupted;  // Blocks signals; must be created before the cluster's threads.
  DemoCluster cluster(options.port);
  if (auto started = cluster.start(options.kubeconfig_out); !started) return started;
  const bool plain = options.plain || isatty(STDOUT_FILENO) == 0;
  return Play(cluster, options, plain).run(*total, interrupted);
}

constexpr const char* kExamples = R"(
Examples:
  evacuator-demo                                    # until the script is over
  evacuator-demo --duration forever --port 6443 --kubeconfig-out /tmp/demo.kubeconfig
)";

void add_options(CLI::App& app, DemoOptions& options) {
  option(app, "--port", options.port, "PORT",
         "Serve the simulated Kubernetes API on this loopback port (default: a free one)")
      ->check(CLI::Range(0, 65535));
  option(app, "--duration", options.duration, "DURATION",
         "Stop after this long, such as 2m; 'forever' serves until Ctrl-C (default: when the script is over)");
  option(app, "--kubeconfig-out", options.kubeconfig_out, "FILE", "Write the kubeconfig for kubectl here");
  option(app, "--speed", options.speed, "X", "Play the script faster or slower")->check(CLI::Range(0.1, 20.0));
  app.add_flag("--plain", options.plain, "No colors, no redrawing (default when not on a terminal)");
  app.footer(kExamples);
}

}  // namespace
}  // namespace cmd

int main(int argc, char** argv) {
  kube::prepare_process();
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("A simulated cluster, the operator and a script in one process", "evacuator-demo");
  cmd::DemoOptions options;
  cmd::add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  return cmd::with_output("evacuator-demo", [&] { return cmd::exit_code_of("evacuator-demo", cmd::demo(options)); });
}
