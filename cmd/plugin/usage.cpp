#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/session/usage_view.hpp"
#include "kube/resource.hpp"
#include "usage/matching.hpp"

namespace cmd::plugin {
namespace {

base::Result<api::DeschedulerPolicy> decode_stored_policy(std::string_view text) {
  const auto json = api::parse_json(text);
  return json ? api::decode_stored_descheduler_policy(*json) : json.error();
}

base::Result<std::vector<api::DeschedulerPolicy>> read_policies(Session& session, const std::string& name) {
  if (name.empty()) return session.readable(kube::kPolicies, decode_stored_policy);
  auto policy = session.policy(name);
  if (!policy) return policy.error();
  return std::vector<api::DeschedulerPolicy>{*std::move(policy)};
}

/// Queries a source. Like the operator, maps samples to nodes by name or address.
base::Result<usage::Samples> ask(usage::Source& source, const usage::NodeMatcher& matcher) {
  auto samples = source.sample();
  if (samples) usage::match_nodes(*samples, matcher);
  return samples;
}

}  // namespace

int run_usage(Session& session, const UsageOptions& options) {
  Io& io = session.io();
  const auto policies = read_policies(session, options.policy);
  if (!policies) return fail(io, policies.error());
  const auto nodes = session.readable(kube::kNodes, api::decode_node);
  if (!nodes) return fail(io, nodes.error());
  std::vector<usage::NodeNames> names;
  for (const api::Node& node : *nodes) names.push_back(usage::names_of(node));
  const usage::NodeMatcher matcher(names);
  api::Json report = api::Json::array();
  bool answered = true;
  for (const api::DeschedulerPolicy& policy : *policies) {
    for (const api::UsageSource& source : policy.spec.usage_sources) {
      const UsageAnswer answer{policy.meta.name, source, ask(*options.make_source(session, source), matcher)};
      answered = answered && answer.samples.ok();
      report.push_back(usage_json(answer, *nodes, session.now()));
      if (session.is_human_readable()) io.out(render_usage(answer, *nodes, session.now()) + "\n");
    }
  }
  if (!session.is_human_readable()) {
    print_value(io, session.flags().output, report);
  } else if (report.empty()) {
    io.err("no policy has spec.usageSources\n");
  }
  return answered ? kDone : kExitFailed;
}

}  // namespace cmd::plugin
