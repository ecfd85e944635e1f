#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "api/core/codec.hpp"
#include "api/core/soft_taint.hpp"
#include "api/meta/well_known.hpp"
#include "cmd/drain/requester.hpp"
#include "cmd/plugin/commands.hpp"

namespace cmd::plugin {
namespace {

constexpr base::seconds kPollInterval{2};
constexpr base::seconds kTaintPatience{60};
/// Grace period for an operator without a Lease (--leader-elect=false). Any change it makes to an Evacuation proves
/// that it runs.
constexpr base::seconds kOperatorGrace{20};
constexpr std::size_t kMaxNamed = 10;
constexpr const char* kUninstallReason = "Evacuator is being uninstalled";

bool is_unfinished(const StoredEvacuation& each) { return !api::is_terminal(each.evacuation.status.phase); }

bool holds_finalizer(const StoredEvacuation& each) {
  const auto& all = each.evacuation.meta.finalizers;
  return std::ranges::find(all, api::well_known::kEvacuationFinalizer) != all.end();
}

std::string name_of(const StoredEvacuation& each) {
  const api::ObjectKey key = each.evacuation.meta.key();
  return fmt::format("{} in namespace {}", resource_name(key), key.ns);
}

std::size_t status_hash(const StoredEvacuation& each) {
  return std::hash<std::string>()(api::encode_status(each.evacuation.status).dump());
}

/// Returns a patch that removes our finalizer. It is guarded by resourceVersion; on a conflict the Evacuation is read
/// again.
api::Json without_our_finalizer(const api::ObjectMeta& meta) {
  api::Json rest = api::Json::array();
  for (const std::string& each : meta.finalizers) {
    if (each != api::well_known::kEvacuationFinalizer) rest.push_back(each);
  }
  return {{"metadata", {{"uid", meta.uid}, {"resourceVersion", meta.resource_version}, {"finalizers", rest}}}};
}

/// Deletes all objects of our kinds from the cluster. Policies are deleted first, because they create Evacuations, then
/// the Evacuations.
class Uninstall {
 public:
  Uninstall(Session& session, const UninstallOptions& options)
      : session_(session), io_(session.io()), options_(options) {}

  int run() {
    const auto policies = list_policies();
    if (!policies) return not_installed(policies.error());
    const auto evacuations = session_.evacuations(listing(""));
    if (!evacuations) return not_installed(evacuations.error());
    operator_problem_ = session_.operator_warning();
    report_plan(*policies, *evacuations);
    if (options_.dry_run) return kDone;
    if (!confirmed()) return kExitFailed;
    detect_operator(*evacuations);  // baseline for detecting status changes by an operator
    // Cancel before deleting policies: while a policy exists, its brake and limits hold back waiting Evacuations.
    for (const StoredEvacuation& each : *evacuations) {
      if (auto told = cancel(each); !told) return fail(io_, told.error());
    }
    for (const std::string& name : *policies) {
      if (auto removed = remove(kube::kPolicies, {"", name}); !removed) return fail(io_, removed.error());
      io_.out(fmt::format("deschedulerpolicy.{}/{} deleted\n", kube::kPolicies.group, name));
    }
    return empty();
  }

 private:
  base::Result<std::vector<std::string>> list_policies() {
    const auto items = session_.list(kube::kPolicies, {});
    if (!items) return items.error();
    std::vector<std::string> names;
    for (const std::string& item : *items) {
      const auto meta = api::decode_meta(item);
      if (!meta) return meta.error().during("reading a DeschedulerPolicy");
      names.push_back(meta->name);
    }
    return names;
  }

  /// Returns true for the error of a server without our kinds.
  static bool is_missing(const base::Error& error) {
    return error.message.find("are not installed in this cluster") != std::string::npos;
  }

  int not_installed(const base::Error& error) {
    if (!is_missing(error)) return fail(io_, error);
    io_.out("Evacuator's custom resources are not installed in this cluster: there is nothing to remove.\n");
    return kDone;
  }

  void report_plan(const std::vector<std::string>& policies, const std::vector<StoredEvacuation>& evacuations) {
    const auto unfinished = std::ranges::count_if(evacuations, is_unfinished);
    io_.out(fmt::format("{}{} DeschedulerPolicies are deleted.\n", dry(), policies.size()));
    for (std::size_t i = 0; i < policies.size() && i < kMaxNamed; ++i) io_.out("  " + policies[i] + "\n");
    io_.out(fmt::format("{}{} Evacuations are deleted; {} are unfinished and are cancelled first.\n", dry(),
                        evacuations.size(), unfinished));
    if (operator_problem_.empty()) return;
    io_.err("warning: " + operator_problem_ + "\n");
    io_.out(dry() +
            "Evacuations that no operator rolls back are released: their effects on other components remain.\n");
  }
  std::string dry() const { return options_.dry_run ? "(dry run) " : ""; }

  bool confirmed() {
    if (options_.yes) return true;
    const auto answer = io_.ask("Continue? [y/N] ");
    if (!answer) io_.err("error: cannot prompt without a terminal; use --yes\n");
    const bool yes = answer && (*answer == "y" || *answer == "Y" || *answer == "yes");
    if (answer && !yes) io_.err("Nothing was changed.\n");
    return yes;
  }

  base::Status remove(const kube::ResourceType& type, const api::ObjectKey& key) {
    const auto removed = session_.client().remove(type, key, "");
    if (removed || base::is_not_found(removed.error())) return base::Done{};
    return session_.explained(removed.error(), {"delete", type, key});
  }

  /// Cancels, deletes and waits, including Evacuations created meanwhile. Removes finalizers only if there is no sign
  /// of an operator.
  int empty() {
    const base::TimePoint begin = session_.now();
    no_operator_since_ = begin;
    for (;;) {
      const auto left = session_.evacuations(listing(""));
      if (!left && is_missing(left.error())) return done();  // the deletion of the CRD was pending and has completed
      if (!left) return fail(io_, left.error());
      if (left->empty()) return done();
      const base::Duration waited = session_.now() - begin;
      detect_operator(*left);
      for (const StoredEvacuation& each : *left) {
        if (auto sent = cancel_delete_or_release(each); !sent) return fail(io_, sent.error());
      }
      if (waited >= options_.timeout) return give_up(*left);
      if (std::exchange(told_, left->size()) != left->size())
        io_.err(fmt::format("Waiting for {} Evacuations to end …\n", left->size()));
      if (io_.nap(kPollInterval)) return kExitInterrupted;
    }
  }

  /// Checks for a running operator: a renewed Lease or, without a Lease, changes to Evacuations.
  void detect_operator(const std::vector<StoredEvacuation>& left) {
    operator_problem_ = session_.operator_warning();
    std::map<std::string, Seen> now;
    bool is_heard = operator_problem_.empty();
    for (const StoredEvacuation& each : left) {
      const std::string& uid = each.evacuation.meta.uid;
      const auto before = seen_.find(uid);
      const bool changed =
          before != seen_.end() && (before->second.changed || before->second.status != status_hash(each));
      is_heard |= changed && !before->second.changed;
      now[uid] = {status_hash(each), holds_finalizer(each), changed};
    }
    // A finalizer not removed by this process was removed by the operator.
    is_heard |= std::ranges::any_of(seen_, [&](const auto& each) {
      return each.second.has_finalizer && !now.contains(each.first) && !released_.contains(each.first);
    });
    if (is_heard) no_operator_since_ = session_.now();
    seen_ = std::move(now);
  }

  base::Status cancel_delete_or_release(const StoredEvacuation& each) {
    const api::ObjectMeta& meta = each.evacuation.meta;
    if (!meta.is_terminating()) return cancel_and_delete(each);
    const bool is_orphan = !operator_problem_.empty() && session_.now() - no_operator_since_ >= kOperatorGrace;
    return is_orphan && holds_finalizer(each) && !seen_.at(meta.uid).changed ? release(each)
                                                                             : base::Status(base::Done{});
  }

  /// Cancels an Evacuation before its deletion, so that the audit log contains the reason.
  base::Status cancel(const StoredEvacuation& each) {
    if (!is_unfinished(each) || each.evacuation.spec.cancel.requested) return base::Done{};
    const api::ObjectKey key = each.evacuation.meta.key();
    const auto patched =
        session_.client().patch(kube::kEvacuations, key, kube::PatchType::kMerge, cancel_patch(kUninstallReason));
    // Deletion also works for an Evacuation that fails schema validation.
    const bool goes_on =
        patched || base::is_not_found(patched.error()) || patched.error().code == base::ErrorCode::kInvalid;
    return goes_on ? base::Status(base::Done{})
                   : session_.explained(patched.error(), {"patch", kube::kEvacuations, key});
  }

  base::Status cancel_and_delete(const StoredEvacuation& each) {
    if (auto cancelled = cancel(each); !cancelled) return cancelled;
    if (auto removed = remove(kube::kEvacuations, each.evacuation.meta.key()); !removed) return removed;
    io_.out(fmt::format("{} {}deleted\n", name_of(each), is_unfinished(each) ? "cancelled and " : ""));
    return base::Done{};
  }

  base::Status release(const StoredEvacuation& each) {
    const api::Evacuation& evacuation = each.evacuation;
    const auto patched = session_.client().patch(kube::kEvacuations, evacuation.meta.key(), kube::PatchType::kMerge,
                                                 without_our_finalizer(evacuation.meta));
    if (!patched && patched.error().code == base::ErrorCode::kConflict) return base::Done{};  // read again
    if (!patched && !base::is_not_found(patched.error()))
      return session_.explained(patched.error(), {"patch", kube::kEvacuations, evacuation.meta.key()});
    released_.insert(evacuation.meta.uid);
    const std::string evictor = evacuation.status.evictor.empty() ? "none" : evacuation.status.evictor;
    io_.out(fmt::format("{} released without an operator: phase {}, evictor {}, pod {}\n", name_of(each),
                        to_string(evacuation.status.phase), evictor, evacuation.spec.pod_ref.name));
    return base::Done{};
  }

  int give_up(const std::vector<StoredEvacuation>& left) {
    io_.err(fmt::format("error: {} Evacuations have not ended within {}:\n", left.size(),
                        base::format_duration(options_.timeout)));
    for (std::size_t i = 0; i < left.size() && i < kMaxNamed; ++i)
      io_.err(fmt::format("  {}: {}\n", name_of(left[i]), to_string(left[i].evacuation.status.phase)));
    io_.err(
        "Run the command again to wait longer. Or stop the operator (kubectl -n evacuator-system scale deployment "
        "evacuator --replicas=0) and run it again: the Evacuations are then released as they are.\n");
    return kExitFailed;
  }

  /// Finishes the uninstallation. Waits for the operator to remove its taints, which it does once there are no
  /// policies. Without an operator they must be removed manually.
  int done() {
    const base::TimePoint begin = session_.now();
    std::size_t tainted = tainted_nodes();
    while (tainted > 0 && session_.operator_warning().empty() && session_.now() - begin < kTaintPatience) {
      if (io_.nap(kPollInterval)) return kExitInterrupted;
      tainted = tainted_nodes();
    }
    if (tainted > 0) {
      io_.err(fmt::format("{} nodes still have a taint of Evacuator. Remove it with:\n", tainted));
      for (const std::string_view key : api::well_known::kSoftTaints)
        io_.err(fmt::format("  kubectl taint nodes --all {}:PreferNoSchedule-\n", key));
    }
    io_.out("No policy and no Evacuation remains. Remove the rest with: kubectl delete -k config/default\n");
    return kDone;
  }

  /// Returns the number of nodes with our taint, or 0 if nodes cannot be listed.
  std::size_t tainted_nodes() {
    const auto nodes = session_.readable(kube::kNodes, api::decode_node);
    if (!nodes) return 0;
    return static_cast<std::size_t>(std::ranges::count_if(
        *nodes, [](const api::Node& node) { return std::ranges::any_of(node.taints, api::is_soft_taint); }));
  }

  Session& session_;
  Io& io_;
  const UninstallOptions& options_;
  /// State of an Evacuation at the last check.
  struct Seen {
    std::size_t status = 0;
    bool has_finalizer = false;
    bool changed = false;  ///< the status has changed since the first check, which precedes all cancellations: an
                           ///< operator is active
  };
  std::map<std::string, Seen> seen_;     ///< by UID
  std::set<std::string> released_;       ///< UIDs of Evacuations whose finalizer this process removed
  base::TimePoint no_operator_since_{};  ///< time since which there is no sign of an operator
  std::string operator_problem_;         ///< result of the last check, empty if an operator runs
  std::size_t told_ = 0;
};

}  // namespace

int run_uninstall(Session& session, const UninstallOptions& options) { return Uninstall(session, options).run(); }

}  // namespace cmd::plugin
