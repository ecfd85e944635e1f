#include "simulator/controllers/workloads.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/backoff.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr base::Backoff kPause{base::seconds(10), base::seconds(360)};

bool has_job_condition(const Json& job, std::string_view type) { return condition_value(job, type) == "True"; }

/// Runs pods to completion: completions, parallelism, backoffLimit with exponential backoff, ttlSecondsAfterFinished.
class JobController final : public WorkloadController {
 public:
  JobController(Store& store, EventRecorder& events) : WorkloadController(store, events, kube::kJobs) {}
  std::string_view name() const override { return "job-controller"; }

 private:
  struct Counts {
    std::int64_t active = 0;
    std::int64_t ready = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    base::TimePoint last_failure{};
  };
  /// Finished pods of one Job, by UID.
  struct Ends {
    std::set<std::string> succeeded;
    std::set<std::string> failed;
    base::TimePoint last_failure{};
  };
  void forget(const std::string& uid) override { ends_.erase(uid); }

  /// Counts finished pods. A pod is counted once and stays counted after its deletion. A pod deleted before it
  /// succeeded counts as failed.
  Counts count(const Json& job, const Pods& pods, base::TimePoint now) {
    Ends& ends = ends_[uid_of(job)];
    Counts counts;
    for (const auto& [key, pod] : pods) {
      if (pod.phase == "Succeeded") {
        ends.succeeded.insert(pod.uid);
      } else if (pod.phase == "Failed" || pod.terminating) {
        if (ends.failed.insert(pod.uid).second) ends.last_failure = now;
      } else {
        ++counts.active;
        counts.ready += pod.ready;
      }
    }
    counts.succeeded = std::ssize(ends.succeeded);
    counts.failed = std::ssize(ends.failed);
    counts.last_failure = ends.last_failure;
    return counts;
  }

  bool reconcile(const Json& owner, const Pods& pods, base::TimePoint now) override {
    if (has_job_condition(owner, "Complete") || has_job_condition(owner, "Failed")) return expire(owner, now);
    const Counts counts = count(owner, pods, now);
    const auto completions = api::number_at(owner, {"spec", "completions"});
    const std::int64_t limit = api::number_at(owner, {"spec", "backoffLimit"}).value_or(6);
    const bool all_done = completions || api::find_at(owner, {"spec", "parallelism"}) == nullptr
                              ? counts.succeeded >= completions.value_or(1)
                              : counts.succeeded > 0 && counts.active == 0;
    if (counts.failed > limit) {
      return finish(owner, pods, "Failed", "BackoffLimitExceeded", counts, now);
    }
    const auto started = time_at(owner, {"status", "startTime"});
    const auto deadline = seconds_at(owner, {"spec", "activeDeadlineSeconds"});
    if (started && deadline && now >= *started + *deadline) {
      return finish(owner, pods, "Failed", "DeadlineExceeded", counts, now);
    }
    if (all_done) return finish(owner, pods, "Complete", "CompletionsReached", counts, now);
    if (started && deadline) reconcile_at(owner, *started + *deadline);
    return keep_running(owner, pods, counts, now);
  }

  /// Writes the final condition once and stops running pods.
  bool finish(const Json& owner, const Pods& pods, std::string_view type, std::string_view reason, const Counts& counts,
              base::TimePoint now) {
    for (const auto& [key, pod] : pods) {
      if (pod.is_active()) (void)delete_pod(pod);
    }
    if (const auto ttl = seconds_at(owner, {"spec", "ttlSecondsAfterFinished"})) reconcile_at(owner, now + *ttl);
    const bool written = write_status(owner, [&](Json& status) {
      status.erase("active");
      status["ready"] = 0;
      status["succeeded"] = counts.succeeded;
      status["failed"] = counts.failed;
      if (type == "Complete") status["completionTime"] = base::format_time(now);
      put_condition(status, type, "True", reason, "", now);
    });
    if (type == "Complete") events_.normal(name(), owner, "Completed", "Job completed");
    if (type == "Failed") events_.warning(name(), owner, std::string(reason), "Job has failed");
    return written;
  }

  bool keep_running(const Json& owner, const Pods& pods, const Counts& counts, base::TimePoint now) {
    const bool suspended = api::flag_at(owner, {"spec", "suspend"});
    bool changed = write_status(owner, [&](Json& status) {
      if (!suspended && !status.contains("startTime")) status["startTime"] = base::format_time(now);
      status["active"] = counts.active;
      status["ready"] = counts.ready;
      status["succeeded"] = counts.succeeded;
      status["failed"] = counts.failed;
      if (suspended) put_condition(status, "Suspended", "True", "JobSuspended", "Job suspended", now);
    });
    const std::int64_t parallelism = count_at(owner, {"spec", "parallelism"}, 1);
    const auto completions = api::number_at(owner, {"spec", "completions"});
    const bool counted = completions || api::find_at(owner, {"spec", "parallelism"}) == nullptr;
    std::int64_t wanted = counted                ? std::min(parallelism, completions.value_or(1) - counts.succeeded)
                          : counts.succeeded > 0 ? counts.active
                                                 : parallelism;
    if (suspended) wanted = 0;

    std::int64_t surplus = counts.active - wanted;
    for (const auto& [key, pod] : pods) {
      if (surplus <= 0) break;
      if (!pod.is_active()) continue;
      changed = delete_pod(pod) || changed;
      --surplus;
    }
    if (counts.active >= wanted) return changed;
    const base::TimePoint resume = counts.last_failure + base::backoff_delay(kPause, counts.failed);
    if (counts.failed > 0 && now < resume) {
      reconcile_at(owner, resume);
      return changed;
    }
    for (std::int64_t i = counts.active; i < wanted; ++i) {
      Json pod = pod_from_template(owner, api::find_at(owner, {"spec", "template"}));
      Json& labels = object_in(pod["metadata"], "labels");
      for (const char* prefix : {"", "batch.kubernetes.io/"}) {
        labels[std::string(prefix) + "job-name"] = api::text_at(owner, {"metadata", "name"});
        labels[std::string(prefix) + "controller-uid"] = uid_of(owner);
      }
      if (!create_pod(owner, std::move(pod))) break;
      changed = true;
    }
    return changed;
  }

  bool expire(const Json& owner, base::TimePoint now) {
    const auto ttl = seconds_at(owner, {"spec", "ttlSecondsAfterFinished"});
    if (!ttl) return false;
    const Json* ended = condition_of(owner, has_job_condition(owner, "Complete") ? "Complete" : "Failed");
    const auto since = time_at(*ended, {"lastTransitionTime"});
    const base::TimePoint due = since.value_or(now) + *ttl;
    if (now >= due) return store_.remove(kube::kJobs, key_of(owner), {uid_of(owner), ""}).ok();
    reconcile_at(owner, due);
    return false;
  }

  std::map<std::string, Ends> ends_;  ///< by UID of the Job
};

}  // namespace

std::unique_ptr<Actor> make_job_controller(Store& store, EventRecorder& events) {
  return std::make_unique<JobController>(store, events);
}

}  // namespace simulator
