#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/meta/label_value.hpp"
#include "cmd/drain/node.hpp"
#include "cmd/drain/pod_group.hpp"
#include "cmd/drain/requester.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/plugin/follow.hpp"
#include "cmd/table.hpp"

namespace cmd::plugin {
namespace {

/// Minimum TTL of decisions and finished Evacuations, so that a drain of hours neither expires in the queue nor loses
/// its records.
constexpr base::seconds kDay{86'400};

std::string blocked_text(const std::vector<BlockedPod>& stays) {
  std::string text;
  for (const BlockedPod& stay : stays) {
    text += fmt::format("  pod/{}  {}{}\n", stay.pod.to_string(), stay.verdict.reason,
                        stay.verdict.flag.empty() ? "" : " (" + stay.verdict.flag + ")");
  }
  return text;
}

/// Returns how the user can proceed. Refusals that no flag overrides state the reason themselves.
std::string flags_to_go_on(const std::string& node, const std::vector<BlockedPod>& refused) {
  std::set<std::string> flags;
  for (const BlockedPod& stay : refused) flags.insert(stay.verdict.flag);
  if (flags.erase("") > 0) return "Wait for such a group, or remove its pods from it (docs/concepts/pod-groups.md)";
  return fmt::format("To continue anyway: kubectl evacuator node {} {}", node, fmt::join(flags, " "));
}

std::string plan_table(const DrainPlan& plan) {
  Table table({"NAMESPACE", "POD", "PRIORITY", "KIND", "NOTE"});
  for (const DrainMove& move : plan.moves) {
    table.add_row({move.pod.meta.ns, move.pod.meta.name, std::to_string(move.pod.priority.value_or(0)),
                   std::string(to_string(move.rank)), move.warning});
  }
  return table.render("  ");
}

class NodeCommand {
 public:
  NodeCommand(Session& session, const NodeOptions& options) : session_(session), io_(session.io()), options_(options) {}

  int run() {
    const auto node = session_.node(options_.node);
    if (!node) return fail(io_, node.error());
    resuming_ = node->unschedulable;
    if (auto checked = check(); !checked) return fail(io_, checked.error());
    if (options_.request.dry_run == "client") return show_plan(*node);
    EvacuationRequest request = evacuation_request_of(session_, options_.request);
    request.drain = options_.node;
    request.decision_ttl = std::max(kDay, std::chrono::ceil<base::seconds>(options_.request.timeout));
    request.ttl = kDay;
    if (options_.request.dry_run == "none") {
      const auto cordoned = cordon(session_, *node, request.requester);
      if (!cordoned) return fail(io_, cordoned.error());
      say(*cordoned);
    }
    // Check again: pods may have been created between the first check and the cordon.
    if (auto again = check(); !again) return failed(again.error());
    return create_all(std::move(request));
  }

 private:
  void say(const std::string& line) {
    if (session_.is_human_readable()) io_.out(line + "\n");
  }

  /// Computes the plan. The error lists every pod that blocks the drain.
  base::Status check() {
    auto pods = pods_on_node(session_, options_.node, options_.pod_selector);
    if (!pods) return pods.error();
    rules_.shutdown_launchers = read_shutdown_launchers(session_, *pods);
    rules_.pod_groups = scheduling_groups_of(session_, *pods);
    plan_ = plan_drain(*std::move(pods), rules_, [this](const api::Pod& pod) { return replicas_(pod); });
    std::vector<api::Pod> moving;
    for (const DrainMove& move : plan_.moves) moving.push_back(move.pod);
    const auto world = read_pod_group_world(session_, moving);
    if (!world) return world.error();
    add_pod_groups(plan_, *world, rules_, options_.whole_group);
    if (plan_.refused.empty()) return base::Done{};
    return base::invalid(fmt::format("node/{} is not evacuated because of {} pods:\n{}{}", options_.node,
                                     plan_.refused.size(), blocked_text(plan_.refused),
                                     flags_to_go_on(options_.node, plan_.refused)));
  }

  int show_plan(const api::Node& node) {
    if (!session_.is_human_readable()) {
      EvacuationCreator asking(session_, evacuation_request_of(session_, options_.request), "client");
      return make(asking) ? print_asked() : code_;
    }
    say(fmt::format("node/{} {}(dry run)", options_.node, node.unschedulable ? "already cordoned " : "cordoned "));
    say(fmt::format("{} pods would be evacuated, in this order:", plan_.moves.size()));
    if (!plan_.moves.empty()) io_.out(plan_table(plan_));
    say_skipped();
    return kDone;
  }

  void say_skipped() {
    if (plan_.skipped.empty()) return;
    say(fmt::format("{} pods stay or leave without an Evacuation:", plan_.skipped.size()));
    if (session_.is_human_readable()) io_.out(blocked_text(plan_.skipped));
  }

  /// Creates the Evacuations in order. Returns false if interrupted or if one could not be created.
  bool make(EvacuationCreator& asking) {
    for (const DrainMove& move : plan_.moves) {
      if (io_.nap(base::milliseconds(0))) {
        io_.err(fmt::format("Interrupted: {} of {} Evacuations were created. {}\n", asked_.size(), plan_.moves.size(),
                            how_to_go_on()));
        code_ = kExitInterrupted;
        return false;
      }
      auto asked = asking.ask_for(move.pod, move.priority);
      if (!asked) {
        failed(asked.error());
        return false;
      }
      if (!move.warning.empty())
        io_.err(fmt::format("Warning: pod/{}: {}\n", move.pod.meta.key().to_string(), move.warning));
      say(describe(*asked));
      const api::ObjectMeta& meta = asked->stored.evacuation.meta;
      (meta.labels.contains(kDrainLabel) ? keys_ : joined_).insert(meta.key());
      asked_.push_back(std::move(asked->stored));
    }
    return true;
  }

  int create_all(EvacuationRequest request) {
    say_skipped();
    EvacuationCreator asking(session_, std::move(request), options_.request.dry_run);
    if (!make(asking)) return code_;
    if (options_.request.dry_run != "none") return print_asked();
    if (asked_.empty() && !resuming_) {
      say(fmt::format("node/{} evacuated: there was nothing to move", options_.node));
      return print_asked();
    }
    session_.warn_about_operator();
    if (options_.wait) return wait();
    say(fmt::format("{} pods are being evacuated. {}", asked_.size(), how_to_go_on()));
    return print_asked();
  }

  std::string how_to_go_on() const {
    return fmt::format("Follow: kubectl evacuator node {}{}. Cancel: kubectl evacuator node {} --cancel", options_.node,
                       flags_given(), options_.node);
  }
  std::string flags_given() const {
    std::string flags;
    if (rules_.ignore_daemonsets) flags += " --ignore-daemonsets";
    if (rules_.delete_emptydir_data) flags += " --delete-emptydir-data";
    if (rules_.force) flags += " --force";
    if (options_.whole_group) flags += fmt::format(" {}", kWholeGroup);
    return flags;
  }

  /// Returns the Evacuations of this command and, if the drain is resumed, those of earlier runs that are running or
  /// successful. A pod whose earlier Evacuation failed has a new one or is gone.
  base::Result<std::vector<StoredEvacuation>> read() {
    auto all = session_.evacuations(listing("", fmt::format("{}={}", kDrainLabel, api::label_value(options_.node))));
    if (!all) return all;
    std::erase_if(*all, [&](const StoredEvacuation& each) {
      const PodProgress standing = progress_state_of(each.evacuation);
      const bool earlier = resuming_ && standing != PodProgress::kFailed && standing != PodProgress::kCancelled;
      return !earlier && !keys_.contains(each.evacuation.meta.key());
    });
    for (const api::ObjectKey& key : joined_) {
      auto stored = session_.evacuation(key);
      if (!stored && base::is_not_found(stored.error())) continue;
      if (!stored) return stored.error();
      all->push_back(*std::move(stored));
    }
    return all;
  }

  int wait() {
    const FollowOptions follow_options{.subject = "node/" + options_.node,
                                       .timeout = options_.request.timeout,
                                       .quiet = !session_.is_human_readable()};
    auto followed = follow(session_, follow_options, [this] { return read(); });
    if (!followed) return failed(followed.error());
    asked_ = std::move(followed->last);
    switch (followed->end) {
      case FollowEnd::kSettled: return settled(followed->progress);
      case FollowEnd::kTimeout:
        return failed(
            {base::ErrorCode::kTimeout,
             fmt::format("node/{}: timed out after {} with {}. {}", options_.node,
                         base::format_duration(options_.request.timeout), summary(followed->progress),
                         options_.uncordon_on_failure ? "" : "The remaining Evacuations continue. " + how_to_go_on())});
      case FollowEnd::kInterrupted:
        io_.err(fmt::format("Interrupted: {}; the remaining Evacuations continue without this command. {}\n",
                            summary(followed->progress), how_to_go_on()));
        print_asked();
        return kExitInterrupted;
    }
    std::abort();
  }

  int settled(const Progress& progress) {
    if (!progress.all_gone()) {
      std::string text = fmt::format("node/{}: {}", options_.node, summary(progress));
      for (const StoredEvacuation& each : asked_) {
        const api::Evacuation& evacuation = each.evacuation;
        if (progress_state_of(evacuation) == PodProgress::kGone) continue;
        text += fmt::format("\n  pod/{}/{}  {} {}: {}", evacuation.meta.ns, evacuation.spec.pod_ref.name,
                            to_string(evacuation.status.phase), evacuation.status.reason, evacuation.status.message);
      }
      return failed(base::invalid(
          text + "\nRun the same command to retry these pods; for details: kubectl evacuator explain pod/NAME"));
    }
    const auto left = pods_on_node(session_, options_.node, options_.pod_selector);
    if (!left) return failed(left.error());
    const DrainPlan rest = plan_drain(*left, rules_, [this](const api::Pod& pod) { return replicas_(pod); });
    if (!rest.moves.empty() || !rest.refused.empty()) {
      return failed(
          base::invalid(fmt::format("node/{}: {} pods were scheduled to the cordoned node in the meantime (they "
                                    "tolerate the cordon); run the same command to evacuate them as well",
                                    options_.node, rest.moves.size() + rest.refused.size())));
    }
    const auto terminating = std::ranges::count_if(*left, [](const api::Pod& pod) {
      return pod.meta.is_terminating() && !pod.is_daemon_set() && !pod.is_terminal();
    });
    say(fmt::format("node/{} evacuated{}", options_.node,
                    terminating == 0 ? "" : fmt::format("; {} pods on it are still terminating", terminating)));
    return print_asked();
  }

  int print_asked() {
    session_.print_raw(asked_);
    return code_;
  }

  /// Handles the failure of the drain. Returns the exit code.
  int failed(const base::Error& error) {
    code_ = fail(io_, error);
    if (options_.uncordon_on_failure) roll_back();
    print_asked();
    return code_;
  }

  /// Rolls back this drain: cancels Evacuations of pods that have not left, and uncordons the node if this drain
  /// cordoned it.
  void roll_back() {
    if (const auto cancelled = cancel_drain(session_, options_.node, "the drain failed"); !cancelled)
      fail(io_, cancelled.error());
    const auto node = session_.node(options_.node);
    if (!node) {
      fail(io_, node.error());
      return;
    }
    if (!is_cordoned_by_us(*node)) {
      say(fmt::format("node/{} stays cordoned: it was cordoned before the drain began", options_.node));
      return;
    }
    const auto done = uncordon(session_, options_.node);
    if (!done) {
      fail(io_, done.error());
    } else {
      say(*done);
    }
  }

  Session& session_;
  Io& io_;
  const NodeOptions& options_;
  DrainRules rules_ = options_.rules;  ///< flags plus facts read from the cluster
  OwnerReplicas replicas_{session_};
  DrainPlan plan_;
  std::vector<StoredEvacuation> asked_;
  std::set<api::ObjectKey> keys_;
  std::set<api::ObjectKey> joined_;  ///< created before by another client, without the drain's label
  bool resuming_ = false;
  int code_ = kDone;
};

bool agrees(const std::optional<std::string>& answer) {
  return answer && !answer->empty() && (answer->front() == 'y' || answer->front() == 'Y');
}

}  // namespace

int run_node(Session& session, const NodeOptions& options) { return NodeCommand(session, options).run(); }

int run_cancel_node(Session& session, const CancelNodeOptions& options) {
  Io& io = session.io();
  const auto node = session.node(options.node);
  if (!node) return fail(io, node.error());
  const auto cancelled = cancel_drain(session, options.node, options.reason);
  if (!cancelled) return fail(io, cancelled.error());
  session.print_raw(*cancelled);
  if (cancelled->empty()) io.err(fmt::format("node/{}: no running Evacuations\n", options.node));
  if (!node->unschedulable) return kDone;
  const bool wanted =
      options.uncordon || agrees(io.ask(fmt::format("node/{} is cordoned. Uncordon it now? [y/N] ", options.node)));
  if (!wanted) {
    io.err(fmt::format("node/{} stays cordoned; to uncordon it: kubectl uncordon {}\n", options.node, options.node));
    return kDone;
  }
  const auto opened = uncordon(session, options.node);
  if (!opened) return fail(io, opened.error());
  if (session.is_human_readable()) io.out(*opened + "\n");
  return kDone;
}

}  // namespace cmd::plugin
