#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cmd/plugin_cluster.hpp"
#include "cmd/plugin_commands.hpp"
#include "cmd/plugin_explain.hpp"
#include "cmd/plugin_target.hpp"

namespace cmd::plugin {
int run_explain(Session& session, const ExplainOptions& options) {
  Io& io = session.io();
  const auto target = parse_target(options.target, TargetKind::kPod);
  if (!target) return fail(io, target.error());
  if (target->kind != TargetKind::kPod) {
    return fail(io, base::invalid(fmt::format("explain is about pods; for a {}: kubectl evacuator status {}",
                                              to_string(target->kind), options.target)));
  }
  Explanation explanation;
  explanation.key = {session.ns(), target->name};
  auto pod = session.pod(explanation.key);
  if (!pod && !base::is_not_found(pod.error())) return fail(io, pod.error());
  if (pod) explanation.pod = *pod;
  LiveCluster cluster = read_cluster(session, session.ns());
  explanation.problems = cluster.problems;
  sort_out(explanation, cluster.evacuations);
  if (!pod && explanation.of_pod.empty()) return fail(io, pod.error());
  if (explanation.pod) {
    const auto budgets = budgets_in(session, session.ns());
    if (budgets) explanation.budgets = budgets_of(*explanation.pod, *budgets);
  }
  cluster.policies.insert(cluster.policies.end(), options.policies.begin(), options.policies.end());
  if (explanation.pod && cluster.snapshot)
    ask_policies(explanation, *std::move(cluster.snapshot), cluster.policies, cluster.evacuations, session.now());
  explanation.past = options.past;
  if (session.for_people()) {
    io.out(render(explanation, session.now(), io.colour));
  } else {
    print_value(io, session.flags().output, as_json(explanation));
  }
  return kDone;
}

}  // namespace cmd::plugin
