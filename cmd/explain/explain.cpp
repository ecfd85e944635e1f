#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cmd/commands.hpp"
#include "cmd/explain/opinion.hpp"
#include "cmd/offline/dump.hpp"
#include "cmd/offline/policy_files.hpp"
#include "cmd/output.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/session/target.hpp"
#include "kube/config/process_environment.hpp"
#include "telemetry/audit/query.hpp"

namespace cmd {
namespace {

plugin::Io plain_io(const base::Clock& clock) {
  return {.out = write_out,
          .err = write_err,
          .nap = [](base::milliseconds) { return false; },
          .ask = [](std::string_view) { return std::nullopt; },
          .clock = clock,
          .environment = kube::child_environment()};
}

base::Result<std::string> pod_name_of(const std::string& text) {
  const auto target = plugin::parse_target(text, plugin::TargetKind::kPod);
  if (!target) return target.error();
  if (target->kind == plugin::TargetKind::kPod) return target->name;
  return base::invalid(fmt::format("explain supports pods, not a {}", to_string(target->kind)));
}

base::Result<std::vector<api::DeschedulerPolicy>> policies_of(const std::vector<std::string>& files) {
  std::vector<api::DeschedulerPolicy> all;
  for (const std::string& file : files) {
    auto some = load_policies(file);
    if (!some) return some.error();
    std::ranges::move(*some, std::back_inserter(all));
  }
  return all;
}

/// Returns the pod's decisions in the audit log, oldest first. Empty if no log files were given.
base::Result<std::vector<plugin::PastDecision>> past_of(const ExplainOptions& options, const std::string& pod) {
  std::vector<plugin::PastDecision> past;
  if (options.audit.empty()) return past;
  const audit::Filter filter{.ns = options.ns, .pod = pod};
  const auto found = audit::query(options.audit, filter, static_cast<std::size_t>(std::max(options.newest, 0)));
  if (!found) return found.error();
  for (const audit::ParsedLine& line : found->lines) {
    const audit::Record& record = line.record;
    past.push_back({record.time, record.policy.name, record.action, record.decision, record.reason,
                    detail_of(record, "strategy"), detail_of(record, "cycle"), detail_of(record, "message")});
  }
  return past;
}

/// What the flags name, besides the cluster.
struct ExplainFiles {
  std::string pod;
  std::vector<api::DeschedulerPolicy> policies;
  std::vector<plugin::PastDecision> past;
};

base::Result<ExplainFiles> read_files(const ExplainOptions& options) {
  auto pod = pod_name_of(options.pod);
  if (!pod) return pod.error();
  auto policies = policies_of(options.policies);
  if (!policies) return policies.error();
  auto past = past_of(options, *pod);
  if (!past) return past.error();
  return ExplainFiles{*std::move(pod), *std::move(policies), *std::move(past)};
}

/// Returns a hint that lists the other namespaces with a pod of that name, empty if there are none.
std::string where_else(const Dump& dump, const std::string& pod) {
  std::string places;
  for (const auto& each : dump.objects.pods) {
    if (each->meta.name == pod) places += (places.empty() ? "" : ", ") + each->meta.ns;
  }
  return places.empty() ? "" : fmt::format("; there is one in {}", places);
}

base::Result<plugin::Explanation> explain_on_dump(Dump dump, const api::ObjectKey& key,
                                                  const std::vector<api::DeschedulerPolicy>& policies,
                                                  base::TimePoint now) {
  plugin::Explanation explanation;
  explanation.key = key;
  if (std::string warning = input_warnings(dump); !warning.empty()) explanation.problems.push_back(std::move(warning));
  plugin::assign_evacuations(explanation, dump.evacuations);
  const auto is_it = [&](const auto& pod) { return pod->meta.ns == key.ns && pod->meta.name == key.name; };
  const auto pod = std::ranges::find_if(dump.objects.pods, is_it);
  const bool exists = pod != dump.objects.pods.end();
  explanation.cycles = plugin::cycle_verdicts(dump.policies, key, exists ? (*pod)->meta.uid : "");
  if (!exists) {
    if (!explanation.of_pod.empty() || !explanation.cycles.empty()) return explanation;
    return base::invalid(
        fmt::format("the dump has no pod \"{}\" in namespace \"{}\"{}", key.name, key.ns, where_else(dump, key.name)));
  }
  explanation.pod = **pod;
  std::vector<api::PodDisruptionBudget> budgets;
  for (const auto& budget : dump.objects.pdbs) budgets.push_back(*budget);
  explanation.budgets = plugin::budgets_of(*explanation.pod, budgets, dump.objects.pods);
  plugin::evaluate_policies(explanation, std::move(dump.objects), policies, dump.evacuations, now);
  return explanation;
}

base::Status explain_dump(const ExplainOptions& options, plugin::Io& io) {
  if (std::ranges::count(options.policies, "-") + (options.snapshot == "-" ? 1 : 0) > 1)
    return base::invalid("standard input can be the dump or one file of policies, not both");
  auto files = read_files(options);
  if (!files) return files.error();
  auto dump = load_dump(options.snapshot);
  if (!dump) return dump.error();
  const auto now = choose_now(options.now, *dump);
  if (!now) return now.error();
  files->policies.insert(files->policies.begin(), dump->policies.begin(), dump->policies.end());
  auto explanation = explain_on_dump(*std::move(dump), {options.ns.empty() ? "default" : options.ns, files->pod},
                                     files->policies, now->time);
  if (!explanation) return explanation.error();
  explanation->now = now->time;
  explanation->now_source = now->source;
  explanation->past = std::move(files->past);
  if (options.output == "text") {
    io.out(plugin::render(*explanation, now->time, false));
  } else {
    plugin::print_value(io, options.output, plugin::as_json(*explanation));
  }
  return base::Done{};
}

int explain_live(const ExplainOptions& options, plugin::Io& io) {
  const auto files = read_files(options);
  if (!files) return plugin::fail(io, files.error());
  plugin::GlobalFlags flags{.kubeconfig = options.kubeconfig, .context = options.context, .ns = options.ns};
  if (!options.operator_namespace.empty()) flags.operator_namespace = options.operator_namespace;
  flags.output = options.output == "text" ? "" : options.output;
  return plugin::with_session(flags, io, [&](plugin::Session& session) {
    return plugin::run_explain(session, {.target = files->pod, .policies = files->policies, .past = files->past});
  });
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  const base::SystemClock clock;
  plugin::Io io = plain_io(clock);
  if (options.snapshot.empty()) {
    if (options.now.empty()) return explain_live(options, io);
    return exit_code_of("evacuator explain", base::invalid("--now requires --snapshot"));
  }
  return exit_code_of("evacuator explain", explain_dump(options, io));
}

}  // namespace cmd
