#include "cmd/input/dump_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"

namespace cmd {
namespace {

constexpr int kMaxDepth = 32;

/// Substrings, in lower case, of member names that hold future times.
constexpr std::array<std::string_view, 13> kFutureTimeWords = {"deadline", "expected", "expir",    "next",   "until",
                                                               "after",    "renewal",  "deletion", "resume", "valid",
                                                               "window",   "planned",  "scheduled"};

std::string lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// Returns true for names of past times: "creationTimestamp", "lastHeartbeatTime", "finishedAt", "time", "timestamp"
/// (in NodeMetrics).
bool is_about_the_past(std::string_view key) {
  const bool ends_so =
      key == "time" || key == "timestamp" || key.ends_with("Time") || key.ends_with("Timestamp") || key.ends_with("At");
  const std::string name = ends_so ? lower(key) : std::string();
  return ends_so && !name.starts_with("end") && std::ranges::none_of(kFutureTimeWords, [&](std::string_view part) {
           return name.find(part) != std::string::npos;
         });
}

}  // namespace

void NewestTime::look_at(const api::Json& object, const std::string& kind) {
  if (!object.is_object()) return;
  object_ = &object;
  kind_ = kind;
  search(object, nullptr, 0);
  if (kind == "Node") look_at_taints();
  object_ = nullptr;
}

/// Examines taints, whose timeAdded is the only past time in a spec.
void NewestTime::look_at_taints() {
  const api::Json* taints = api::find_at(*object_, {"spec", "taints"});
  if (taints == nullptr || !taints->is_array()) return;
  const Step spec{nullptr, "spec", 0};
  const Step list{&spec, "taints", 0};
  for (std::size_t i = 0; i < taints->size(); ++i) {
    const Step taint{&list, {}, i};
    const Step added{&taint, "timeAdded", 0};
    if (const auto time = base::parse_time(api::text_at((*taints)[i], {"timeAdded"}))) take(*time, &added);
  }
}

void NewestTime::search(const api::Json& json, const Step* at, int depth) {
  if (depth > kMaxDepth) return;
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      const Step step{at, {}, i};
      search(json[i], &step, depth + 1);
    }
    return;
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    const bool is_top = at == nullptr;
    const bool is_opaque = key == "annotations" || key == "labels" || key == "fieldsV1" ||
                           (is_top && (key == "data" || key == "stringData" || (key == "spec" && kind_ != "Lease")));
    if (is_opaque) continue;
    const Step step{at, key, 0};
    if (value.is_structured()) {
      search(value, &step, depth + 1);
    } else if (value.is_string() && is_about_the_past(key)) {
      if (const auto time = base::parse_time(value.get_ref<const std::string&>())) take(*time, &step);
    }
  }
}

void NewestTime::take(base::TimePoint time, const Step* at) {
  if (time == base::TimePoint{} || (time_ && time <= *time_)) return;
  time_ = time;
  where_ = fmt::format("{} {}, {}", kind_, api::text_at(*object_, {"metadata", "name"}), text_of(at));
}

std::string NewestTime::text_of(const Step* at) {
  if (at == nullptr) return {};
  const std::string before = text_of(at->parent);
  if (at->key.empty()) return fmt::format("{}[{}]", before, at->index);
  return before.empty() ? std::string(at->key) : fmt::format("{}.{}", before, at->key);
}

}  // namespace cmd
