#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/meta/well_known.hpp"
#include "cmd/drain/pod_group.hpp"
#include "cmd/drain/requester.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/plugin/follow.hpp"
#include "cmd/session/target.hpp"

namespace cmd::plugin {
namespace {

class PodCommand {
 public:
  PodCommand(Session& session, const PodOptions& options)
      : session_(session),
        options_(options),
        asking_(session, evacuation_request_of(session, options.request), options.request.dry_run) {}

  int run() {
    auto chosen = choose();
    if (!chosen) return fail(session_.io(), chosen.error());
    if (const auto whole = complete_groups(*chosen); !whole) return fail(session_.io(), whole.error());
    for (const api::Pod& pod : *chosen) ask(pod);
    if (options_.request.dry_run == "none" && !asked_.empty()) {
      session_.warn_about_operator();
      if (options_.wait) return wait();
    }
    session_.print_raw(asked_);
    return code_;
  }

 private:
  /// Returns the named pods that exist, then those that match the selector.
  base::Result<std::vector<api::Pod>> choose() {
    std::vector<api::Pod> pods;
    for (const std::string& name : options_.names) {
      const auto target = parse_target(name, TargetKind::kPod);
      if (!target) return target.error();
      if (target->kind != TargetKind::kPod)
        return base::invalid(fmt::format("\"{}\" is not a pod; for a whole node: kubectl evacuator node NODE", name));
      auto pod = session_.pod({session_.ns(), target->name});
      if (pod) {
        pods.push_back(*std::move(pod));
      } else if (base::is_not_found(pod.error())) {
        code_ = fail(session_.io(), pod.error());
      } else {
        return pod.error();
      }
    }
    if (options_.selector.empty()) return pods;
    auto selected = session_.pods(listing(session_.scope(), options_.selector));
    if (!selected) return selected.error();
    if (selected->empty())
      session_.io().err(fmt::format("No pods with {} found in {}.\n", options_.selector,
                                    session_.scope().empty() ? "any namespace" : "namespace " + session_.ns()));
    pods.insert(pods.end(), std::make_move_iterator(selected->begin()), std::make_move_iterator(selected->end()));
    return pods;
  }

  /// Extends the selection to whole pod groups if --whole-group is set. Otherwise refuses pods of incomplete groups.
  base::Status complete_groups(std::vector<api::Pod>& chosen) {
    const auto world = read_pod_group_world(session_, chosen);
    if (!world) return world.error();
    for (IncompletePodGroup& rest : incomplete_pod_groups(chosen, *world)) {
      const std::string why = why_not_evacuable(rest);
      if (!options_.whole_group || !why.empty()) {
        code_ = fail(session_.io(), refusal_of(rest, why));
        std::erase_if(chosen, [&](const api::Pod& pod) { return is_among(rest.chosen, pod); });
        continue;
      }
      if (session_.is_human_readable()) {
        session_.io().out(fmt::format("PodGroup {} leaves as a whole: also requested for {}\n", rest.name,
                                      members_text(rest.missing)));
      }
      chosen.insert(chosen.end(), std::make_move_iterator(rest.missing.begin()),
                    std::make_move_iterator(rest.missing.end()));
    }
    return base::Done{};
  }

  static base::Error refusal_of(const IncompletePodGroup& rest, const std::string& why) {
    std::vector<std::string> names;
    for (const api::Pod& pod : rest.chosen) names.push_back(pod.meta.name);
    std::string text =
        fmt::format("{} {} not evacuated: PodGroup {} leaves as a whole, and ",
                    fmt::format("pod/{}", fmt::join(names, ", pod/")), names.size() == 1 ? "is" : "are", rest.name);
    const std::string pods = fmt::format("{} -n {}", fmt::join(names, " "), rest.ns);
    if (why.empty()) {
      text += fmt::format(
          "these members have no Evacuation: {}\nTo request them for all members: kubectl evacuator pod {} {}",
          members_text(rest.missing), pods, kWholeGroup);
    } else {
      text += why;
    }
    return base::invalid(fmt::format("{}\nTo remove {} from it: kubectl annotate pod {} {}=", text,
                                     names.size() == 1 ? "this pod" : "these pods", pods,
                                     api::well_known::kPodGroupKey));
  }

  void ask(const api::Pod& pod) {
    if (const std::string objection = why_not_evacuable(pod); !objection.empty()) {
      code_ = fail(session_.io(), base::invalid(fmt::format("pod/{} is not evacuated: {}", pod.meta.name, objection)));
      return;
    }
    auto asked = asking_.ask_for(pod);
    if (!asked) {
      code_ = fail(session_.io(), asked.error());
      return;
    }
    if (session_.is_human_readable()) session_.io().out(describe(*asked) + "\n");
    keys_.insert(asked->stored.evacuation.meta.key());
    asked_.push_back(std::move(asked->stored));
  }

  base::Result<std::vector<StoredEvacuation>> read() {
    auto all = session_.evacuations(listing(session_.scope()));
    if (!all) return all;
    std::erase_if(*all, [&](const auto& each) { return !keys_.contains(each.evacuation.meta.key()); });
    if (all->size() < keys_.size())
      return base::Error{base::ErrorCode::kNotFound, "an Evacuation was deleted before it completed"};
    return all;
  }

  int wait() {
    const FollowOptions follow_options{.subject = "Evacuation",
                                       .timeout = options_.request.timeout,
                                       .with_namespace = session_.flags().all_namespaces,
                                       .quiet = !session_.is_human_readable()};
    auto followed = follow(session_, follow_options, [this] { return read(); });
    if (!followed) return fail(session_.io(), followed.error());
    asked_ = std::move(followed->last);
    session_.print_raw(asked_);
    switch (followed->end) {
      case FollowEnd::kSettled: return followed->progress.all_gone() ? code_ : kExitFailed;
      case FollowEnd::kTimeout:
        return fail(session_.io(),
                    {base::ErrorCode::kTimeout,
                     fmt::format("timed out after {} with {}; the Evacuations continue: kubectl evacuator watch",
                                 base::format_duration(options_.request.timeout), summary(followed->progress))});
      case FollowEnd::kInterrupted:
        session_.io().err(
            "Interrupted: the Evacuations continue without this command. Cancel them with: kubectl evacuator cancel "
            "NAME\n");
        return kExitInterrupted;
    }
    std::abort();
  }

  Session& session_;
  const PodOptions& options_;
  EvacuationCreator asking_;
  std::vector<StoredEvacuation> asked_;
  std::set<api::ObjectKey> keys_;
  int code_ = kDone;
};

}  // namespace

int run_pod(Session& session, const PodOptions& options) {
  if (options.names.empty() == options.selector.empty()) {
    return fail(session.io(), base::invalid("no pods are selected: pass either names or a label selector (-l)"));
  }
  if (!options.names.empty() && session.flags().all_namespaces) {
    return fail(session.io(), base::invalid("pod names need a namespace: use -n instead of -A"));
  }
  return PodCommand(session, options).run();
}

}  // namespace cmd::plugin
