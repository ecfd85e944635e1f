#include "populated.hpp"

namespace test_api {
namespace {

using base::seconds;

base::TimePoint at(int minute) {
  return base::parse_time("2026-11-21T03:00:00Z").value() + std::chrono::minutes(minute);
}

/// `Parts` is EvacuationSpec or EvacuationTemplate.
template <typename Parts>
void populate_shared(Parts& parts) {
  parts.evictors = {{"annotation", {{"mode", "strict"}, {"prefix", "x"}}}, {"eviction-api", {}}};
  parts.timeouts = {seconds(1), seconds(2), seconds(3), seconds(4), seconds(5),
                    seconds(6), seconds(7), seconds(8), seconds(9), seconds(10)};
  parts.retry = {5, seconds(30), seconds(300)};
  parts.on_timeout = api::OnTimeout::kNextEvictor;
  parts.hold_slot_until = api::HoldSlotUntil::kReplacementReady;
  parts.grace_period_seconds = 20;
  parts.require_replacement = true;
  parts.ttl_after_finished = seconds(0);
  parts.priority = -4;
}

std::vector<api::Condition> populated_conditions() {
  return {{"Ready", api::ConditionStatus::kFalse, "Because", "as it is", 3, at(1)},
          {"Other", api::ConditionStatus::kUnknown, "Why", "who knows", 2, at(2) + std::chrono::microseconds(5)}};
}

api::LabelSelector selector(const std::string& value) {
  return {{{"app", api::SelectorOperator::kIn, {value}},
           {"tier", api::SelectorOperator::kIn, {"x"}},
           {"env", api::SelectorOperator::kNotIn, {"test", "dev"}},
           {"gone", api::SelectorOperator::kDoesNotExist, {}}}};
}

api::PolicySchedule populated_schedule() {
  api::PolicySchedule schedule;
  schedule.interval = seconds(90);
  schedule.cron = "*/10 * * * *";
  schedule.time_zone = "Europe/Berlin";
  schedule.windows = {{api::Weekdays(0b0111110), base::minutes(22 * 60), base::minutes(6 * 60 + 30)}};
  schedule.blackouts = {{api::WeeklyWindow{api::Weekdays(1), base::minutes(0), base::minutes(24 * 60)}, {}, {}},
                        {{}, at(0), at(60)}};
  schedule.triggers = {{api::TriggerKind::kUsageSpike, seconds(60), "prometheus", "cpu", 85.5},
                       {api::TriggerKind::kNodeAdded, seconds(10), "", "", 0}};
  return schedule;
}

api::UsageEndpoint populated_endpoint() {
  api::UsageEndpoint endpoint;
  endpoint.url = "https://prometheus.monitoring:9090/prefix";
  endpoint.basic_username = {"prometheus", "user"};
  endpoint.basic_password = {"prometheus", "password"};
  endpoint.ca = {"prometheus", "ca.crt"};
  endpoint.certificate = {"prometheus", "tls.crt"};
  endpoint.certificate_key = {"prometheus", "tls.key"};
  endpoint.server_name = "prometheus.example.com";
  endpoint.insecure_skip_verify = true;
  endpoint.headers = {{"X-Scope-OrgID", "team-a"}};
  endpoint.timeout = seconds(20);
  return endpoint;
}

std::vector<api::UsageSource> populated_usage_sources() {
  api::UsageSource prometheus;
  prometheus.name = "prometheus";
  prometheus.type = api::UsageSourceType::kPrometheus;
  prometheus.max_age = seconds(240);
  prometheus.interval = seconds(60);
  prometheus.endpoint = populated_endpoint();
  prometheus.queries = {
      {"cpu", api::UsageOf::kNode, "NodeExporterCPU", "", api::UsageUnit::kFraction, "", "", ""},
      {"memory", api::UsageOf::kPod, "", "sum by (ns, name) (m)", api::UsageUnit::kPercent, "host", "ns", "name"}};
  prometheus.smoothing = {api::SmoothingMethod::kMeanPlusSigma, base::minutes(10), 0.5, 95, 2};
  prometheus.forecast = api::UsageForecast{base::minutes(30), 95, std::chrono::hours(24), base::minutes(1)};
  prometheus.max_unknown_percent = 10;
  api::UsageSource koordinator;
  koordinator.name = "koordinator";
  koordinator.type = api::UsageSourceType::kKoordinator;
  koordinator.aggregation = "p95";
  return {prometheus, koordinator};
}

std::vector<api::PolicyGate> populated_gates() {
  api::PolicyGate alerts;
  alerts.name = "no-incident";
  alerts.type = api::GateType::kAlertmanager;
  alerts.endpoint.url = "http://alertmanager:9093";
  alerts.endpoint.bearer_token = {"alertmanager", "token"};
  alerts.matchers = {{"severity", "critical"}, {"team", "web"}};
  alerts.interval = seconds(15);
  alerts.on_error = api::GateOnError::kIgnore;
  api::PolicyGate query;
  query.name = "calm";
  query.source = "prometheus";
  query.query = "up == 0";
  return {alerts, query};
}

}  // namespace

std::vector<api::UsageSource> other_usage_sources() {
  api::UsageSource watcher;
  watcher.name = "watcher";
  watcher.type = api::UsageSourceType::kLoadWatcher;
  watcher.endpoint = populated_endpoint();
  api::UsageSource by_token = watcher;
  by_token.name = "by-token";
  by_token.endpoint.basic_username.reset();
  by_token.endpoint.basic_password.reset();
  by_token.endpoint.bearer_token = {"watcher", "token"};
  api::UsageSource prometheus = by_token;
  prometheus.name = "prometheus";
  prometheus.type = api::UsageSourceType::kPrometheus;
  api::UsageSource server;
  server.name = "server";
  return {watcher, by_token, prometheus, server};
}

std::vector<api::PolicyGate> other_gates() {
  std::vector<api::PolicyGate> gates;
  for (const auto type : {api::GateType::kPrometheus, api::GateType::kAlertmanager, api::GateType::kWebhook}) {
    for (const bool by_token : {false, true}) {
      api::PolicyGate& gate = gates.emplace_back();
      gate.name = "gate";
      gate.type = type;
      gate.endpoint = populated_endpoint();
      if (!by_token) continue;
      gate.endpoint.basic_username.reset();
      gate.endpoint.basic_password.reset();
      gate.endpoint.bearer_token = {"gate", "token"};
    }
    if (type == api::GateType::kPrometheus) gates.back().query = gates[gates.size() - 2].query = "up == 0";
  }
  for (std::size_t i = 0; i < gates.size(); ++i) gates[i].name += std::to_string(i);
  return gates;
}

api::EvacuationSpec populated_evacuation_spec() {
  api::EvacuationSpec spec;
  spec.pod_ref = {"web-1", {"016da400-760b-46f1-844d-9b343c6af858"}};
  spec.node_name = {"n1"};
  spec.reason = "too crowded";
  spec.source = {"balance", "LowNodeUtilization", "evacuator"};
  populate_shared(spec);
  spec.concurrency_group = "group-1";
  spec.suspend = true;
  spec.dry_run = true;
  spec.cancel = {true, "changed my mind"};
  spec.placement = api::PlacementHint{{"node-7"}, api::PlacementPolicy::kRequired, seconds(90)};
  return spec;
}

api::EvacuationStatus populated_evacuation_status() {
  api::EvacuationStatus status;
  status.phase = api::EvacuationPhase::kAborting;
  status.reason = "HeartbeatLost";
  status.message = "nothing was heard";
  status.observed_generation = 4;
  status.evictor = "annotation";
  status.adapter = "generic";
  status.evictor_index = 1;
  status.attempt = 2;
  status.token = "uid.2";
  status.workload_group = "owner";
  status.spec_hash = "hash";
  status.signed_priority = -4;
  status.group = "Job/train";
  status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "o-1", true};
  status.started_at = at(1);
  status.attempt_started_at = at(2);
  status.phase_entered_at = at(3);
  status.in_progress_since = at(4);
  status.blocked_since = at(5);
  status.deadline = at(6) + std::chrono::microseconds(250);
  status.request_sent_at = at(7);
  status.last_heartbeat_at = at(8);
  status.queued_since = at(8);
  status.last_heartbeat_value = "uid.2@40";
  status.progress = 40;
  status.expected_completion_at = at(9);
  status.next_action_at = at(10);
  status.blocked_count = 3;
  status.granted_without_delete = 1;
  status.remote_failures = 2;
  status.target_node = {"n3"};
  status.refs = {{"migration", "m-1"}, {"vmi", "vm/u-1"}};
  status.intent = api::EvacuationIntent{"PostEviction", "uid.2", at(11), true, "Granted", "rv 7"};
  status.abort = api::EvacuationAbort{"UserCancelled", api::EvacuationPhase::kBackoff, at(12)};
  status.placement = api::PlacedPod{"web-1-abcde", "u-new"};
  status.outcome = api::EvacuationOutcome{api::OutcomeKind::kMovedByOwner, at(13),
                                          api::EvacuationReplacement{"web-2", "u-2", {"n2"}, at(14)}};
  status.last_response = api::LastResponse{429, "PDBBlocked", "Cannot evict pod", at(15)};
  status.blocked_by = {{"PodDisruptionBudget", "web", "needs 3 healthy pods", 0, 3, 3, at(16)}};
  status.conditions = populated_conditions();
  status.history = {{at(17), "Pending", "Preparing", "SlotAcquired", "a slot is free", 1, "evacuator-0"}};
  status.finished_at = at(18);
  return status;
}

api::DeschedulerPolicySpec populated_policy_spec() {
  api::DeschedulerPolicySpec spec;
  spec.mode = api::PolicyMode::kAutomatic;
  spec.suspend = true;
  spec.schedule = populated_schedule();
  spec.usage_sources = populated_usage_sources();
  spec.gates = populated_gates();
  spec.convergence = {7, 12.5};
  spec.node_selector = selector("nodes");
  spec.evictability.node_fit = true;
  spec.evictability.node_fit_level = api::NodeFitLevel::kBasic;
  spec.compatibility = api::Compatibility::kUpstream;
  spec.scheduler.scoring = api::ScoringStrategyType::kMostAllocated;
  spec.scheduler.minor_version = 23;
  spec.evictability.node_selector = selector("fit");
  spec.evictability.min_replicas = 2;
  spec.evictability.min_pod_age = std::chrono::milliseconds(1500);
  spec.evictability.priority_threshold = api::PriorityThreshold{1000, ""};
  spec.evictability.label_selector = selector("pods");
  spec.evictability.namespace_label_selector = selector("namespaces");
  spec.evictability.namespaces.exclude = {"kube-system", "b"};
  spec.evictability.pod_protections = {{api::PodProtection::kDaemonSetPods, api::PodProtection::kFailedBarePods},
                                       {api::PodProtection::kPodsWithPVC},
                                       {"fast", "slow"},
                                       {"cache", "tmp"}};
  spec.evictability.no_eviction_policy = api::NoEvictionPolicy::kMandatory;
  spec.evictability.opt_outs = {{"example.com/do-not-move", std::chrono::hours(24)}};
  spec.evictability.autoscaler_annotations = api::AutoscalerAnnotations::kIgnore;
  spec.strategies = {{"PodLifeTime", R"({"maxPodLifeTimeSeconds":60})"}, {"LowNodeUtilization", "{}"}};
  spec.limits.per_cycle = {5, 0, 1};
  spec.limits.in_flight = {api::IntOrPercent{10, true},  api::IntOrPercent{2, false}, api::IntOrPercent{0, false},
                           api::IntOrPercent{100, true}, api::IntOrPercent{3, false}, api::IntOrPercent{50, true}};
  spec.limits.cooldown = {seconds(60), seconds(120), seconds(180), seconds(240), seconds(300)};
  spec.limits.rate = api::RateLimit{2, {}, 7};
  populate_shared(spec.evacuation);
  spec.circuit_breaker.failures = 7;
  spec.explain.cycles = 3;
  spec.evacuation.evictors.push_back({"stateful-handoff", {}});
  spec.evacuation.hooks = populated_hooks();
  return spec;
}

api::EvacuationHooks populated_hooks() {
  api::Hook job = populated_job_hook();
  api::Hook webhook;
  webhook.service = "backup";
  webhook.timeout = seconds(30);
  webhook.retries = 0;
  return {webhook, job, webhook, webhook};
}

api::Hook populated_job_hook() {
  api::Hook job;
  job.job_template_json = R"({"spec":{"containers":[{"image":"backup:1","name":"backup"}]}})";
  job.job_ttl = seconds(600);
  job.timeout = seconds(1200);
  job.retries = 5;
  job.on_failure = api::HookFailurePolicy::kIgnore;
  return job;
}

api::DeschedulerPolicyStatus populated_policy_status() {
  api::DeschedulerPolicyStatus status;
  status.observed_generation = 7;
  status.conditions = populated_conditions();
  status.last_cycle = api::LastCycle{"c-1", at(1), std::chrono::milliseconds(1234),      3, 40, 5,
                                     2,     3,     {{"PDBBlocked", 2}, {"TooYoung", 1}}, 6, 7,  true};
  status.next_cycle_time = at(6);
  status.active = 2;
  status.evicted = 17;
  status.evicted_counted = 15;
  status.evicted_until = at(5);
  status.circuit = {3, "shop/web-1", "again", at(7), at(8)};
  status.plan = {{"shop", "web-1", "u-1", "n1", "n2", "PodLifeTime", "too old", 42.5, 1, "Preferred"}};
  status.balance = {{"LowNodeUtilization", "cpu", {20.5, 1.8}, {10.25, 1.25}, "Improving", 2, 8.5}};
  api::NodeClasses classes;
  classes.strategy = "LowNodeUtilization";
  classes.over = 1;
  classes.under = 2;
  classes.appropriate = 3;
  classes.unknown = 4;
  classes.out_of_scope = 5;
  classes.not_considered = 6;
  classes.cordoned_under = 1;
  classes.note = "no node is overutilized";
  classes.nodes = {{"node-a", api::NodeClass::kUnderutilized, true, "cpu 10.0 % of allocatable, not above thresholds"}};
  status.node_classes = {classes};
  status.strategy_state = api::StrategyState{
      "AlternatingUtilization",
      R"({"imbalance":4.5,"moved":12,"nodes":9,"nodesFreed":2,"nodesInUse":7,"phase":"Stopped","planned":3,)"
      R"("plannedAt":"2026-03-01T12:00:09Z","reason":"NoProgress","round":2,"strategy":"AlternatingUtilization",)"
      R"("waiting":true})"};
  status.plan_truncated = true;
  status.refusals = {{"shop", "web-2", "u-2", "n1", "PodLifeTime", "PDBWouldBlock", "web allows none", "web", 2, 0}};
  status.cooldowns = {{"vm/shop/db-1", {at(2), at(4)}}};
  status.restarts = {{"u-3", "main", {{at(1), 2}, {at(2), 5}}}};
  status.history.cycles = {{4, at(1), 5, 2, {{"PDBBlocked", 2}}, 1}, {5, at(6), 0, 0, {}, 0}};
  status.history.decisions = {
      {"shop", "web-1", "u-1", true, "n1", "n2", "PodLifeTime", "", "too old", "", {}, {}, {4, 5}},
      {"shop", "web-2", "u-2", false, "n1", "", "PodLifeTime", "PDBWouldBlock", "web allows none", "web", 2, 0, {5}}};
  return status;
}

}  // namespace test_api
