#include "evictors/handoff/protocol.hpp"

#include <algorithm>
#include <cctype>

#include "api/meta/well_known.hpp"
#include "base/text.hpp"
#include "evictors/document.hpp"

namespace evictors::handoff {
namespace {

namespace names = api::well_known;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

void read_phases(std::string_view list, Capability& capability) {
  capability.migrate = false;
  for (const std::string_view part : base::split(list, ",")) {
    const std::string_view phase = trimmed(part);
    capability.pre |= phase == "pre";
    capability.migrate |= phase == "migrate";
    capability.post |= phase == "post";
  }
  if (!capability.pre && !capability.post) capability.migrate = true;
}

std::optional<base::seconds> read_timeout(std::string_view text) {
  const auto wanted = base::parse_duration(trimmed(text));
  if (!wanted || *wanted < base::seconds(1)) return std::nullopt;
  return std::min(std::chrono::duration_cast<base::seconds>(*wanted), base::seconds(24 * 3600));
}

/// Returns the part of a value after "<token><separator>", and "" for the bare token. Returns nullopt for another token
/// or an invalid value.
std::optional<std::string_view> payload(const api::Pod& pod, std::string_view key, std::string_view token,
                                        char separator, std::size_t most = kMaxValue) {
  const std::string* found = pod.meta.annotations.find(key);
  if (!found || token.empty() || found->size() > most) return std::nullopt;
  const std::string_view value = trimmed(*found);
  if (!value.starts_with(token)) return std::nullopt;
  if (value.size() == token.size()) return std::string_view();
  if (value[token.size()] != separator) return std::nullopt;  // "uid.1" does not match "uid.10"
  return value.substr(token.size() + 1);
}

bool carries(const api::Pod& pod, std::string_view key, std::string_view token) {
  const auto rest = payload(pod, key, token, '@');
  return rest && rest->empty();
}

bool is_camel_case(std::string_view text) {
  const auto alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !text.empty() && text.size() <= 64 && std::isupper(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), alnum);
}

std::optional<RemoteFailure> read_failure(const api::Pod& pod, std::string_view token) {
  // No length limit: ignoring a failure would leave the owner and the Evacuation waiting for each other.
  const auto rest = payload(pod, names::kHandoffFailed, token, ':', std::string::npos);
  if (!rest) return std::nullopt;
  const auto colon = rest->find(':');
  const std::string_view reason = rest->substr(0, colon);
  RemoteFailure failure;
  failure.reason = is_camel_case(reason) ? std::string(reason) : "HandoffFailed";
  failure.retryable = failure.reason.starts_with("Retryable");
  if (colon != std::string_view::npos) failure.message = base::truncate_utf8(rest->substr(colon + 1), kMaxMessage);
  return failure;
}

std::optional<std::int32_t> read_percent(std::string_view text) {
  const auto value = base::parse_number<std::int32_t>(text);
  return value && *value >= 0 && *value <= 100 ? value : std::nullopt;
}

/// Returns ack, heartbeat and progress unmodified. Any change counts as a heartbeat.
std::string heartbeat_signs(const api::Pod& pod, std::string_view token) {
  std::string signs;
  for (const std::string_view key : {names::kHandoffAck, names::kHandoffHeartbeat, names::kHandoffProgress}) {
    const auto value = payload(pod, key, token, '@');
    if (!value) continue;
    if (!signs.empty()) signs += '|';
    signs += value->empty() ? "seen" : std::string(*value);
  }
  return signs;
}

}  // namespace

std::optional<Capability> read_capability(const api::Pod& pod) {
  const api::StringMap& annotations = pod.meta.annotations;
  const std::string* mode = annotations.find(names::kHandoffMode);
  if (!mode) return std::nullopt;
  Capability capability;
  capability.required = trimmed(*mode) != "optional";
  if (const std::string* phases = annotations.find(names::kHandoffPhases)) read_phases(*phases, capability);
  // A required pod never leaves without `ready-to-evict`, which only the migrate phase provides.
  if (capability.required) capability.migrate = true;
  capability.owner_evicts = trimmed(annotations.value(names::kHandoffEvictBy)) == "owner";
  if (capability.owner_evicts) capability.migrate = true;
  capability.strict = trimmed(annotations.value(names::kHandoffStrict)) == "true";
  capability.surge_pod = trimmed(annotations.value(names::kHandoffSurgePod)) == "true";
  capability.timeout = read_timeout(annotations.value(names::kHandoffTimeout));
  return capability;
}

Signs read_signs(const api::Pod& pod, std::string_view token) {
  Signs state;
  state.requested = carries(pod, names::kHandoffRequest, token);
  if (state.requested) state.request_phase = trimmed(pod.meta.annotations.value(names::kHandoffRequestPhase));
  state.abort_written = carries(pod, names::kHandoffAbort, token);
  state.acknowledged = payload(pod, names::kHandoffAck, token, '@').has_value();
  state.pre_done = carries(pod, names::kHandoffPreDone, token);
  state.ready = carries(pod, names::kHandoffReadyToEvict, token);
  state.aborted = carries(pod, names::kHandoffAborted, token);
  state.failed = read_failure(pod, token);
  state.alive = heartbeat_signs(pod, token);
  if (const auto text = payload(pod, names::kHandoffProgress, token, '@')) state.progress = read_percent(*text);
  if (const auto text = payload(pod, names::kHandoffExpectedCompletion, token, '@')) {
    state.expected_completion = base::parse_time(*text);
  }
  return state;
}

}  // namespace evictors::handoff
