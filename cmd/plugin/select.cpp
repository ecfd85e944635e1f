#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "api/meta/label_value.hpp"
#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "cmd/drain/progress.hpp"
#include "cmd/drain/requester.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/session/target.hpp"

namespace cmd::plugin {
namespace {

base::Status check_selection(const Session& session, const Selection& which) {
  const int ways = static_cast<int>(!which.names.empty()) + static_cast<int>(which.all) +
                   static_cast<int>(!which.selector.empty()) + static_cast<int>(!which.policy.empty());
  if (ways == 0)
    return base::invalid("no Evacuations are selected: pass names, pod/NAME, -l SELECTOR, --policy NAME or --all");
  if (!which.names.empty() && ways > 1) return base::invalid("names cannot be combined with -l, --policy or --all");
  if (!which.names.empty() && session.flags().all_namespaces)
    return base::invalid("Evacuation names need a namespace: use -n instead of -A");
  return base::Done{};
}

/// Returns the Evacuations that a name refers to: the Evacuation itself, or the unfinished ones of a pod.
base::Result<std::vector<StoredEvacuation>> named(Session& session, const std::string& name) {
  const auto target = parse_target(name, TargetKind::kEvacuation);
  if (!target) return target.error();
  if (target->kind == TargetKind::kEvacuation) {
    auto stored = session.evacuation({session.ns(), target->name});
    if (!stored) return stored.error();
    return std::vector<StoredEvacuation>{*std::move(stored)};
  }
  if (target->kind != TargetKind::kPod)
    return base::invalid(fmt::format("\"{}\": use the name of an Evacuation, or pod/NAME", name));
  auto all = session.evacuations(listing(session.ns()));
  if (!all) return all;
  std::erase_if(*all, [&](const StoredEvacuation& each) {
    return each.evacuation.spec.pod_ref.name != target->name || api::is_terminal(each.evacuation.status.phase);
  });
  if (all->empty())
    return base::Error{base::ErrorCode::kNotFound,
                       fmt::format("pod/{} has no unfinished Evacuation in namespace {}", target->name, session.ns())};
  return all;
}

base::Result<std::vector<StoredEvacuation>> by_labels(Session& session, const Selection& which) {
  kube::ListOptions options = listing(session.scope(), which.selector);
  // Policies are cluster-scoped, so --policy selects Evacuations of all namespaces.
  if (!which.policy.empty()) {
    options.ns = session.flags().ns.empty() ? std::string() : session.scope();
    options.label_selector += (which.selector.empty() ? "" : ",") +
                              fmt::format("{}={}", api::well_known::kPolicyLabel, api::label_value(which.policy));
  }
  auto all = session.evacuations(options);
  // The label can be set by any user and truncates long names, so check the owning policy.
  if (all && !which.policy.empty())
    std::erase_if(*all, [&](const StoredEvacuation& each) { return api::policy_of(each.evacuation) != which.policy; });
  return all;
}

/// Effect of a command on one Evacuation.
struct Change {
  std::string words;   ///< "approved", or the reason for no change
  api::Json patch;     ///< null for no change
  bool wrong = false;  ///< report an error if the Evacuation was named explicitly
};

Change cancel_change(const api::Evacuation& evacuation, const std::string& reason) {
  if (api::is_terminal(evacuation.status.phase))
    return {fmt::format("has already ended ({})", to_string(evacuation.status.phase)), nullptr, true};
  if (evacuation.spec.cancel.requested) return {"cancellation was already requested", nullptr};
  const bool too_late = evacuation.status.phase == api::EvacuationPhase::kEvicting ||
                        evacuation.status.phase == api::EvacuationPhase::kVerifying;
  return {too_late ? "cancellation requested, but the eviction is already granted: the pod leaves"
                   : "cancellation requested",
          cancel_patch(reason)};
}

Change approve_change(const api::Evacuation& evacuation) {
  if (api::is_terminal(evacuation.status.phase))
    return {fmt::format("has already ended ({})", to_string(evacuation.status.phase)), nullptr, true};
  if (!evacuation.spec.suspend) return {"needs no approval: it is not suspended", nullptr, true};
  return {"approved", release_patch()};
}

/// Patches the selected Evacuations. One that cannot be changed is an error only if it was named explicitly.
class BulkPatch {
 public:
  using ChangeOf = std::function<Change(const api::Evacuation&)>;

  BulkPatch(Session& session, const Selection& which) : session_(session), io_(session.io()), which_(which) {}

  int run(std::string_view nothing, const ChangeOf& change_of) {
    if (auto sound = check_selection(session_, which_); !sound) return fail(io_, sound.error());
    for (const StoredEvacuation& each : choose()) change(each.evacuation.meta.key(), change_of(each.evacuation));
    if (!session_.is_human_readable()) print_objects(io_, session_.flags().output, changed_);
    if (changed_.empty() && code_ == kDone && which_.names.empty()) io_.err(std::string(nothing) + "\n");
    return code_;
  }

 private:
  std::vector<StoredEvacuation> choose() {
    std::vector<StoredEvacuation> chosen;
    const auto take = [&](const base::Result<std::vector<StoredEvacuation>>& found) {
      if (!found) {
        code_ = fail(io_, found.error());
      } else {
        chosen.insert(chosen.end(), found->begin(), found->end());
      }
    };
    for (const std::string& name : which_.names) take(named(session_, name));
    if (which_.names.empty()) take(by_labels(session_, which_));
    return chosen;
  }

  void change(const api::ObjectKey& key, const Change& wanted) {
    const std::string words = fmt::format("{} {}\n", resource_name(key), wanted.words);
    if (wanted.wrong) {
      if (which_.names.empty()) return;
      code_ = kExitFailed;
      return io_.err("error: " + words);
    }
    if (!wanted.patch.is_null()) {
      const auto text = session_.patch(kube::kEvacuations, key, wanted.patch);
      if (!text) {
        code_ = fail(io_, text.error());
        return;
      }
      if (auto parsed = api::parse_json(*text)) changed_.push_back(*std::move(parsed));
    }
    if (session_.is_human_readable()) io_.out(words);
  }

  Session& session_;
  Io& io_;
  const Selection& which_;
  std::vector<api::Json> changed_;
  int code_ = kDone;
};

}  // namespace

int run_cancel(Session& session, const CancelOptions& options) {
  return BulkPatch(session, options.which).run("There is nothing to cancel.", [&](const api::Evacuation& each) {
    return cancel_change(each, options.reason);
  });
}

int run_approve(Session& session, const Selection& which) {
  return BulkPatch(session, which).run("No Evacuation waits for approval.", approve_change);
}

}  // namespace cmd::plugin
