#include "test/bench/real/audit_log.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"

namespace bench {
namespace {

using Json = nlohmann::json;

std::string text_at(const Json& record, const char* field) {
  const auto found = record.find(field);
  return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json& object_at(const Json& record, const char* field) {
  static const Json kNone = Json::object();
  const auto found = record.find(field);
  return found != record.end() && found->is_object() ? *found : kNone;
}

double time_at(const Json& record, const char* field) {
  const auto time = base::parse_time(text_at(record, field));
  return time ? std::chrono::duration<double>(time->time_since_epoch()).count() : 0;
}

/// Returns true for requests of the measured program, neither of the server itself nor of the benchmark.
bool is_measured(const Json& record) {
  const std::string user = text_at(object_at(record, "user"), "username");
  const std::string agent = text_at(record, "userAgent");
  const bool is_ours = user.starts_with("system:serviceaccount:evacuator-system:");
  return (is_ours || !user.starts_with("system:")) && !agent.starts_with(kUserAgent) && !agent.starts_with("kubectl");
}

}  // namespace

std::optional<Call> call_of(const std::string& line) {
  const Json record = Json::parse(line, nullptr, false);
  if (!record.is_object() || text_at(record, "stage") != "ResponseComplete" || !record.contains("objectRef") ||
      !is_measured(record))
    return std::nullopt;
  const Json& object = object_at(record, "objectRef");
  const std::string sub = text_at(object, "subresource");
  Call call;
  call.received = time_at(record, "requestReceivedTimestamp");
  call.answered = time_at(record, "stageTimestamp");
  call.verb = text_at(record, "verb");
  call.resource = text_at(object, "resource") + (sub.empty() ? "" : "/" + sub);
  const Json& status = object_at(record, "responseStatus");
  const auto code = status.find("code");
  if (code != status.end() && code->is_number_integer()) call.code = code->get<int>();
  return call;
}

bool is_of_evictions(const Call& call) {
  static constexpr std::array<std::string_view, 6> kResources = {
      "pods", "pods/eviction", "evacuations", "events", "evacuations/status", "persistentvolumeclaims"};
  return call.verb != "list" && call.verb != "watch" &&
         std::ranges::find(kResources, call.resource) != kResources.end();
}

std::vector<std::string> Tail::lines() {
  std::vector<std::string> whole;
  file_.clear();
  char buffer[1 << 16];
  for (;;) {
    file_.read(buffer, sizeof buffer);
    if (file_.gcount() <= 0) break;
    rest_.append(buffer, static_cast<std::size_t>(file_.gcount()));
  }
  std::size_t begin = 0;
  for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
    whole.push_back(rest_.substr(begin, end - begin));
  rest_.erase(0, begin);
  return whole;
}

}  // namespace bench
