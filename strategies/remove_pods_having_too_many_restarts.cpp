#include "strategies/remove_pods_having_too_many_restarts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "strategies/listing.hpp"

namespace strategies {
namespace {

constexpr std::array<std::string_view, 2> kRestartStates = {"Running", "CrashLoopBackOff"};

bool is_looked_at(const api::ContainerStatus& status, bool init_containers) {
  return !status.is_ephemeral && (!status.is_init || init_containers);
}

}  // namespace

RemovePodsHavingTooManyRestarts::Args RemovePodsHavingTooManyRestarts::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.scope = read_scope(args);
  const std::size_t before = args.errors().size();
  args.read("podRestartThreshold", parsed.threshold);
  if (parsed.threshold < 1 && args.errors().size() == before) {
    args.complain("podRestartThreshold", "is required and must be at least 1");
  }
  args.read("includingInitContainers", parsed.init_containers);
  parsed.states = read_choices(args, "states", kRestartStates);
  return parsed;
}

std::int64_t RemovePodsHavingTooManyRestarts::restarts_of(const api::Pod& pod) const {
  std::int64_t restarts = 0;
  for (const api::ContainerStatus& status : pod.container_statuses) {
    if (is_looked_at(status, args_.init_containers)) restarts += status.restart_count;
  }
  return restarts;
}

/// The phase, or what a container waits for; why one terminated does not count.
bool RemovePodsHavingTooManyRestarts::is_in_state(const api::Pod& pod) const {
  if (args_.states.empty()) return true;
  const auto is_listed = [&](std::string_view state) {
    return std::ranges::find(args_.states, state) != args_.states.end();
  };
  return is_listed(api::to_string(pod.phase)) ||
         std::ranges::any_of(pod.container_statuses, [&](const api::ContainerStatus& status) {
           return is_looked_at(status, args_.init_containers) && is_listed(status.waiting_reason);
         });
}

base::Status RemovePodsHavingTooManyRestarts::nominate(const Context& context, NominationSink& sink) const {
  const auto& cluster = context.cluster.base();
  const auto restarts = [&](PodIndex pod) { return restarts_of(cluster.pod(pod)); };
  for (const NodeIndex node : context.nodes) {
    std::vector<PodIndex> pods = pods_on(context, node, PodStates::kAll);
    std::erase_if(pods, [&](PodIndex pod) {
      const api::Pod& object = cluster.pod(pod);
      return restarts(pod) < args_.threshold || !is_in_state(object) || !args_.scope.includes(object) ||
             !may_leave(context, sink, pod);
    });
    std::ranges::stable_sort(pods, std::ranges::greater{}, restarts);
    const auto reason = [&](PodIndex pod) {
      return fmt::format("its containers restarted {} times, {} are too many", restarts(pod), args_.threshold);
    };
    if (!offer_all(sink, pods, reason)) break;
  }
  return base::Done{};
}

}  // namespace strategies
