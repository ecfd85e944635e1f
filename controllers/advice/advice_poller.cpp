#include "controllers/advice/advice_poller.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json/lenient.hpp"
#include "controllers/advice/status.hpp"
#include "kube/classify.hpp"

namespace controllers::advice {
namespace {

using advisor::WorkloadKey;
using api::Json;
using base::kv;
using kube::kResourceAdvices;

/// Maximum age of a sample: metrics-server scrapes kubelets every 15 s to 60 s.
constexpr base::minutes kMaxAge{5};
/// Minimum delay between two reconciles, whatever is overdue.
constexpr base::seconds kMinPause{1};

api::ObjectKey object_of(const WorkloadKey& key) { return {key.ns, advice_name(key)}; }

}  // namespace

AdvicePoller::AdvicePoller(Dependencies dependencies, const ResourceAdviceConfig& config)
    : deps_(std::move(dependencies)),
      config_(config),
      store_({.interval = config.interval, .startup = config.startup, .max_age = kMaxAge}) {}

base::Result<kube::Requeue> AdvicePoller::reconcile(const api::ObjectKey&) {
  const base::TimePoint now = deps_.clock.now();
  const bool is_far = next_sample_ && *next_sample_ - now > config_.sample_interval;  // the clock was set back
  if (is_far) {
    refused_until_ = std::min<base::TimePoint>(refused_until_, now + kRefusedFor);
    store_.limit_due(now);
  }
  if (!next_sample_ || is_far || now >= *next_sample_) {
    sample(now);
    next_sample_ = now + config_.sample_interval;
  }
  write_due(now);
  base::TimePoint next = *next_sample_;
  if (const auto due = store_.next_due(); due && now >= refused_until_) next = std::min(next, *due);
  return kube::Requeue::in(std::max<base::Duration>(next - now, kMinPause));
}

void AdvicePoller::sample(base::TimePoint now) {
  Advised found = advised_workloads(deps_.cluster(), static_cast<std::size_t>(config_.max_workloads));
  const std::size_t left_out = found.left_out;
  store_.follow(std::move(found), now);
  const auto told = deps_.sample([&](const usage::ContainerSample& sample) { store_.sample(sample, now); });
  deps_.metrics
      .counter("evacuator_advice_questions_total", "Number of requests to metrics.k8s.io for advice, by result.",
               {{"result", told ? "answered" : "failed"}})
      .increment();
  std::string problem = told ? "" : told.error().message;
  if (told && !told->empty()) problem = told->front();
  tell("cannot measure containers for advice", problem, last_sample_problem_);
  for (const auto& [state, count] : {std::pair("followed", store_.size()), std::pair("left_out", left_out)}) {
    deps_.metrics
        .gauge("evacuator_advice_workloads",
               "Number of workloads with advice, and without advice because of resourceAdvice.maxWorkloads.",
               {{"state", state}})
        .set(static_cast<double>(count));
  }
}

/// Logs each problem once while it is unchanged.
void AdvicePoller::tell(const char* what, const std::string& text, std::string& told) const {
  if (text == told) return;
  told = text;
  if (!text.empty()) deps_.log.warning(what, {kv("problem", text)});
}

void AdvicePoller::write_due(base::TimePoint now) {
  if (now < refused_until_) return;
  std::vector<WorkloadKey> due = store_.due(now);
  if (due.size() > kMaxWrites) due.resize(kMaxWrites);
  std::string problem;
  for (const WorkloadKey& key : due) {
    const base::Status done = write(key, *store_.find(key), now);
    store_.written(key, now, done.ok());
    deps_.metrics
        .counter("evacuator_advice_writes_total", "Number of writes of ResourceAdvices, by result.",
                 {{"result", done ? "succeeded" : "failed"}})
        .increment();
    if (done) continue;
    problem = done.error().message;
    if (!kube::is_right_missing(done.error())) continue;
    refused_until_ = now + kRefusedFor;
    break;
  }
  if (!due.empty()) tell("cannot write a ResourceAdvice", problem, last_write_problem_);
}

void AdvicePoller::flush(base::Duration time) {
  const base::TimePoint end = deps_.clock.now() + time;
  for (const WorkloadKey& key : store_.with_news()) {
    const base::TimePoint now = deps_.clock.now();
    if (now >= end || !write(key, *store_.find(key), now)) return;
    store_.written(key, now, true);
  }
}

base::Status AdvicePoller::load(const WorkloadKey& key, StoredAdvice& kept, base::TimePoint now, bool& is_there) {
  const auto text = deps_.client.get(kResourceAdvices, object_of(key));
  is_there = text.ok();
  if (!text) return base::is_not_found(text.error()) ? base::Status(base::Done{}) : text.error();
  const auto json = api::parse_json(*text);
  if (!json) return json.error();
  const auto object = api::decode_resource_advice(*json);
  if (!object) return object.error();
  for (const std::string& problem : load_histories(object->status, kept, now))
    deps_.log.warning("cannot read the stored history of a workload, which starts again",
                      {kv("namespace", key.ns), kv("name", advice_name(key)), kv("problem", problem)});
  return base::Done{};
}

base::Status AdvicePoller::create(const WorkloadKey& key, const StoredAdvice& kept) {
  api::ObjectMeta meta;
  meta.name = advice_name(key);
  meta.ns = key.ns;
  meta.owner_references = {kept.workload.owner};
  meta.owner_references.front().controller = false;  // no controller reconciles it
  const Json body = {{"apiVersion", kResourceAdvices.api_version()},
                     {"kind", std::string(kResourceAdvices.kind)},
                     {"metadata", api::encode_meta(meta)}};
  const auto made = deps_.client.create(kResourceAdvices, key.ns, body);
  if (!made && made.error().code != base::ErrorCode::kAlreadyExists) return made.error();
  return base::Done{};
}

base::Status AdvicePoller::write(const WorkloadKey& key, StoredAdvice& kept, base::TimePoint now) {
  bool is_there = true;
  if (!kept.is_loaded) {
    if (auto loaded = load(key, kept, now, is_there); !loaded) return loaded;
    kept.is_loaded = true;
  }
  const auto status = advice_status(key, kept, {config_.profile, config_.percentile, 0, 0}, now);
  const auto patch = [&] {
    return deps_.client.patch(kResourceAdvices, object_of(key), kube::PatchType::kMerge,
                              {{"status", api::encode_status(status)}}, "status");
  };
  auto done =
      is_there ? patch() : base::Result<std::string>(base::Error{base::ErrorCode::kNotFound, "not computed yet"});
  if (!done && base::is_not_found(done.error())) {
    if (!kept.is_there && is_there) return base::Done{};  // the object was deleted with its workload
    if (auto made = create(key, kept); !made) return made;
    done = patch();
  }
  if (!done) return done.error();
  kept.conditions = status.conditions;
  return base::Done{};
}

}  // namespace controllers::advice
