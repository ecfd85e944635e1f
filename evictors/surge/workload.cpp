#include "evictors/surge/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"

namespace evictors::surge {
namespace {

using api::Json;

constexpr std::size_t kShortUid = 8;
constexpr std::size_t kMaxMarkBytes = 16 * 1024;

// --- parsing of untrusted input

std::int32_t count_in(const Json& object, std::initializer_list<std::string_view> path, std::int32_t otherwise) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(api::number_at(object, path).value_or(otherwise), 0, 1'000'000));
}

/// Returns a number, or a percentage of `total`.
std::int64_t scaled_in(const Json& object, std::initializer_list<std::string_view> path, std::int64_t total, bool up,
                       std::int64_t otherwise) {
  const Json* found = api::find_at(object, path);
  if (!found) return otherwise;
  if (found->is_number_integer()) return std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, 1'000'000);
  if (!found->is_string()) return otherwise;
  const std::string text = found->get<std::string>();
  std::int64_t percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || *end != '%' || percent < 0 || percent > 100'000) return otherwise;
  return (percent * total + (up ? 99 : 0)) / 100;
}

std::string expression_text(const Json& expression) {
  const std::string key = api::text_at(expression, {"key"});
  const std::string op = api::text_at(expression, {"operator"});
  if (op == "Exists") return key;
  if (op == "DoesNotExist") return "!" + key;
  std::vector<std::string> values;
  for (const Json& value : api::items_at(expression, {"values"})) {
    if (value.is_string()) values.push_back(value.get<std::string>());
  }
  return fmt::format("{} {} ({})", key, op == "NotIn" ? "notin" : "in", fmt::join(values, ","));
}

std::string selector_text(const Json& object) {
  std::vector<std::string> parts;
  if (const Json* labels = api::find_at(object, {"spec", "selector", "matchLabels"}); labels && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      if (value.is_string()) parts.push_back(key + "=" + value.get<std::string>());
    }
  }
  for (const Json& each : api::items_at(object, {"spec", "selector", "matchExpressions"})) {
    parts.push_back(expression_text(each));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

void read_strategy(const Json& object, Workload& workload) {
  workload.recreate = api::text_at(object, {"spec", "strategy", "type"}) == "Recreate";
  const std::int64_t n = workload.replicas;
  workload.max_surge =
      scaled_in(object, {"spec", "strategy", "rollingUpdate", "maxSurge"}, n, true, (n * 25 + 99) / 100);
  workload.max_unavailable =
      scaled_in(object, {"spec", "strategy", "rollingUpdate", "maxUnavailable"}, n, false, n * 25 / 100);
  if (workload.max_surge == 0 && workload.max_unavailable == 0) workload.max_unavailable = 1;
}

}  // namespace

std::string_view to_string(Mode mode) { return mode == Mode::kExtraReplica ? "ExtraReplica" : "RollingRestart"; }

std::optional<Mode> parse_mode(std::string_view text) {
  if (text == "ExtraReplica") return Mode::kExtraReplica;
  if (text == "RollingRestart") return Mode::kRollingRestart;
  return std::nullopt;
}

std::string encode(const Mark& mark) {
  Json json = {
      {"token", mark.token}, {"evacuation", mark.evacuation}, {"mode", to_string(mark.mode)}, {"from", mark.from},
      {"to", mark.to},       {"before", mark.before}};
  if (mark.mode == Mode::kRollingRestart) json["previous"] = mark.previous;
  return api::to_json_text(json);
}

std::optional<Mark> decode_mark(std::string_view text) {
  if (text.empty() || text.size() > kMaxMarkBytes) return std::nullopt;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  Mark mark;
  mark.token = api::text_at(json, {"token"});
  mark.evacuation = api::text_at(json, {"evacuation"});
  const auto mode = parse_mode(api::text_at(json, {"mode"}));
  mark.from = count_in(json, {"from"}, 0);
  mark.to = count_in(json, {"to"}, 0);
  mark.previous = api::text_at(json, {"previous"});
  if (const Json* before = api::find_at(json, {"before"}); before && before->is_array()) {
    for (const Json& each : *before) {
      if (each.is_string()) mark.before.insert(each.get<std::string>());
    }
  }
  const bool sane = mark.from >= 1 && mark.to >= mark.from && mark.to <= mark.from + 1;
  if (!mode || mark.token.empty() || !sane) return std::nullopt;
  mark.mode = *mode;
  return mark;
}

bool is_new(const Mark& mark, const api::Pod& pod) { return !mark.before.contains(pod.meta.uid.substr(0, kShortUid)); }

std::optional<Workload> read_workload(const std::string& text, const kube::ResourceType& type) {
  const Json json = Json::parse(text, nullptr, false);
  auto meta = api::decode_meta(text);
  if (!json.is_object() || !meta || meta->uid.empty() || meta->name.empty()) return std::nullopt;
  Workload workload;
  workload.type = type;
  workload.meta = *std::move(meta);
  workload.replicas = count_in(json, {"spec", "replicas"}, 1);
  workload.paused = api::flag_at(json, {"spec", "paused"});
  workload.min_ready_seconds = count_in(json, {"spec", "minReadySeconds"}, 0);
  workload.progress_deadline = base::seconds(count_in(json, {"spec", "progressDeadlineSeconds"}, 600));
  workload.observed_generation = api::number_at(json, {"status", "observedGeneration"}).value_or(0);
  workload.status_replicas = count_in(json, {"status", "replicas"}, 0);
  workload.updated_replicas = count_in(json, {"status", "updatedReplicas"}, 0);
  workload.available_replicas = count_in(json, {"status", "availableReplicas"}, 0);
  workload.selector = selector_text(json);
  if (const Json* pod_template = api::find_at(json, {"spec", "template"})) workload.pod_template = *pod_template;
  if (type == kube::kDeployments) read_strategy(json, workload);
  workload.restarted_for = api::text_at(json, {"spec", "template", "metadata", "annotations", kRestartedFor.data()});
  workload.marked = workload.meta.annotations.contains(kMark);
  workload.mark = decode_mark(workload.meta.annotations.value(kMark));
  return workload;
}

Json comparable(Json pod_template) {
  if (!pod_template.is_object() || !pod_template.contains("metadata")) return pod_template;
  Json& meta = pod_template["metadata"];
  if (!meta.is_object()) return pod_template;
  meta.erase("creationTimestamp");
  if (meta.contains("labels") && meta["labels"].is_object()) meta["labels"].erase("pod-template-hash");
  if (meta.contains("annotations") && meta["annotations"].is_object()) {
    meta["annotations"].erase(std::string(kRestartedFor));
    if (meta["annotations"].empty()) meta.erase("annotations");
  }
  return pod_template;
}

}  // namespace evictors::surge
