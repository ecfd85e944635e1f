#include <fmt/format.h>

#include "api/meta/well_known.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/plugin/follow.hpp"
#include "cmd/session/target.hpp"
#include "controllers/evacuation/io.hpp"
#include "kube/runtime/informer.hpp"

namespace cmd::plugin {
namespace {

constexpr base::milliseconds kGlance{250};

bool concerns(const api::Evacuation& evacuation, const std::optional<Target>& target) {
  if (!target) return true;
  switch (target->kind) {
    case TargetKind::kPod: return evacuation.spec.pod_ref.name == target->name;
    case TargetKind::kNode: return evacuation.spec.node_name.value == target->name;
    case TargetKind::kPolicy: return evacuation.spec.source.policy == target->name;
    case TargetKind::kEvacuation: return evacuation.meta.name == target->name;
  }
  std::abort();
}

/// Returns the namespace to watch. Nodes and policies are cluster-scoped, so their Evacuations are watched in all
/// namespaces unless -n is set.
std::string watched_namespace(const Session& session, const std::optional<Target>& target) {
  const bool of_cluster = target && (target->kind == TargetKind::kNode || target->kind == TargetKind::kPolicy);
  return of_cluster && session.flags().ns.empty() ? std::string() : session.scope();
}

}  // namespace

int run_watch(Session& session, const WatchOptions& options) {
  Io& io = session.io();
  std::optional<Target> target;
  if (!options.target.empty()) {
    const auto parsed = parse_target(options.target, TargetKind::kEvacuation);
    if (!parsed) return fail(io, parsed.error());
    target = *parsed;
  }
  kube::ReflectorOptions how;
  how.list = listing(watched_namespace(session, target), options.selector);
  kube::Informer<api::Evacuation> informer(session.client(), io.clock, kube::kEvacuations,
                                           controllers::evacuation::decode_observed_evacuation, how, base::Log());
  const std::string subject = options.target.empty() ? "Evacuations" : options.target;
  LiveTable table(io, how.list.ns.empty());
  do {
    while (informer.reflector().poll()) {
    }
    const auto problem = informer.reflector().last_error();
    if (problem && !informer.has_synced())
      return fail(io, session.explained(*problem, {"watch", kube::kEvacuations, {how.list.ns, ""}}));
    if (!informer.has_synced()) continue;
    std::vector<api::Evacuation> shown;
    for (const auto& each : informer.store().list()) {
      if (concerns(*each, target)) shown.push_back(*each);
    }
    table.show(progress_line(subject, progress_of(newest_per_pod(shown)), io.screen.has_value()), shown);
  } while (!io.nap(kGlance));
  return kDone;
}

}  // namespace cmd::plugin
