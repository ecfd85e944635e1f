#include "simulator/faults.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/json/strict_object.hpp"

namespace simulator {
namespace {

constexpr std::array kEffects = {
    api::WireName<FaultEffect>{FaultEffect::kDropRequest, "drop-request"},
    api::WireName<FaultEffect>{FaultEffect::kDropResponse, "drop-response"},
    api::WireName<FaultEffect>{FaultEffect::kDuplicate, "duplicate"},
    api::WireName<FaultEffect>{FaultEffect::kDelay, "delay"},
    api::WireName<FaultEffect>{FaultEffect::kCutAnswer, "cut-answer"},
    api::WireName<FaultEffect>{FaultEffect::kTooManyRequests, "too-many-requests"},
    api::WireName<FaultEffect>{FaultEffect::kInternalError, "internal-error"},
    api::WireName<FaultEffect>{FaultEffect::kUnavailable, "unavailable"},
    api::WireName<FaultEffect>{FaultEffect::kProxyPage, "proxy-page"},
    api::WireName<FaultEffect>{FaultEffect::kCutWatch, "cut-watch"},
    api::WireName<FaultEffect>{FaultEffect::kStallWatch, "stall-watch"},
    api::WireName<FaultEffect>{FaultEffect::kHoldBookmark, "hold-bookmark"},
    api::WireName<FaultEffect>{FaultEffect::kStaleList, "stale-list"},
};

/// Statuses that proxies, load balancers and login gateways return themselves.
constexpr int kPageStatuses[] = {400, 402, 403, 405, 406, 407, 408, 409, 410, 411, 412, 413, 415, 421, 422, 425, 451};

bool is_watch_effect(FaultEffect effect) {
  return effect == FaultEffect::kCutWatch || effect == FaultEffect::kStallWatch || effect == FaultEffect::kHoldBookmark;
}

bool concerns(const FaultRule& rule, const FaultSubject& subject) {
  const auto fits = [](const std::string& wanted, std::string_view is) {
    return wanted.empty() || wanted == is || (wanted == "-" && is.empty());
  };
  return fits(rule.verb, subject.verb) && fits(rule.resource, subject.resource) &&
         fits(rule.subresource, subject.subresource) && fits(rule.user, subject.user);
}

base::Result<FaultRule> parse_rule(const api::Json& json) {
  FaultRule rule;
  const std::string effect = api::text_at(json, {"effect"});
  const auto known = api::value_of(kEffects, effect);
  if (!known) {
    return base::invalid(
        fmt::format("effect: \"{}\" is unknown; one of {}", effect, fmt::join(api::all_names(kEffects), ", ")));
  }
  rule.effect = *known;
  rule.verb = api::text_at(json, {"verb"});
  rule.resource = api::text_at(json, {"resource"});
  rule.subresource = api::text_at(json, {"subresource"});
  rule.user = api::text_at(json, {"user"});
  if (const api::Json* odds = api::find_at(json, {"probability"}); odds && odds->is_number())
    rule.probability = odds->get<double>();
  rule.count = api::number_at(json, {"count"}).value_or(-1);
  rule.after = std::max<std::int64_t>(0, api::number_at(json, {"after"}).value_or(0));
  if (const api::Json* at = api::find_at(json, {"at"}); at && at->is_number()) rule.at = at->get<double>();
  rule.delay = base::milliseconds(api::number_at(json, {"delayMilliseconds"}).value_or(rule.delay.count()));
  rule.retry_after = base::seconds(api::number_at(json, {"retryAfterSeconds"}).value_or(rule.retry_after.count()));
  rule.status = static_cast<int>(api::number_at(json, {"status"}).value_or(0));
  rule.lag = static_cast<std::uint64_t>(std::max<std::int64_t>(0, api::number_at(json, {"lag"}).value_or(10)));
  return rule;
}

}  // namespace

std::string_view to_string(FaultEffect effect) { return api::name_of(kEffects, effect); }

void Faults::set(std::vector<FaultRule> rules, std::optional<std::uint64_t> seed) {
  const std::scoped_lock lock(mutex_);
  rules_ = std::move(rules);
  if (seed) random_.seed(*seed);
}

void Faults::add(FaultRule rule) {
  const std::scoped_lock lock(mutex_);
  rules_.push_back(std::move(rule));
}

std::vector<FaultRule> Faults::rules() const {
  const std::scoped_lock lock(mutex_);
  return rules_;
}

double Faults::draw() {
  constexpr double kSteps = 1 << 24;  // scaled here because standard distributions differ between libraries
  return static_cast<double>(random_() >> 40) / kSteps;
}

bool Faults::fires(FaultRule& rule, const FaultSubject& subject) {
  if (rule.count == 0 || !concerns(rule, subject)) return false;
  if (rule.after > 0) {
    --rule.after;
    return false;
  }
  const bool hit = rule.probability >= 1 || draw() < rule.probability;
  if (!hit) return false;
  if (rule.count > 0) --rule.count;
  ++rule.hits;
  return true;
}

std::optional<FaultRule> Faults::strike(const FaultSubject& subject) {
  const std::scoped_lock lock(mutex_);
  for (FaultRule& rule : rules_) {
    if (is_watch_effect(rule.effect) || (rule.effect == FaultEffect::kStaleList && subject.verb != "list")) continue;
    if (!fires(rule, subject)) continue;
    FaultRule struck = rule;
    if (struck.effect == FaultEffect::kCutAnswer && struck.at < 0) struck.at = draw();
    if (struck.effect == FaultEffect::kProxyPage && struck.status == 0)
      struck.status = kPageStatuses[static_cast<std::size_t>(draw() * std::size(kPageStatuses))];
    return struck;
  }
  return std::nullopt;
}

std::optional<FaultEffect> Faults::strike_watch(const FaultSubject& subject, WatchMoment moment) {
  const std::scoped_lock lock(mutex_);
  for (FaultRule& rule : rules_) {
    const bool counts_events = rule.probability < 1 || rule.after > 0;
    if (!is_watch_effect(rule.effect) || (counts_events && moment == WatchMoment::kPoll)) continue;
    if (rule.effect == FaultEffect::kHoldBookmark && moment != WatchMoment::kInitialEvents) continue;
    if (fires(rule, subject)) return rule.effect;
  }
  return std::nullopt;
}

base::Result<std::vector<FaultRule>> Faults::parse(const api::Json& document) {
  const api::Json* list = api::find_at(document, {"rules"});
  if (!list || !list->is_array()) return base::invalid("rules: an array of fault rules is required");
  std::vector<FaultRule> rules;
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto rule = parse_rule((*list)[i]);
    if (!rule) return std::move(rule).error().during(fmt::format("rules[{}]", i));
    rules.push_back(*std::move(rule));
  }
  return rules;
}

api::Json Faults::to_json() const {
  api::Json list = api::Json::array();
  for (const FaultRule& rule : rules()) {
    list.push_back({{"effect", to_string(rule.effect)},
                    {"verb", rule.verb},
                    {"resource", rule.resource},
                    {"subresource", rule.subresource},
                    {"user", rule.user},
                    {"probability", rule.probability},
                    {"count", rule.count},
                    {"after", rule.after},
                    {"at", rule.at},
                    {"delayMilliseconds", rule.delay.count()},
                    {"retryAfterSeconds", rule.retry_after.count()},
                    {"lag", rule.lag},
                    {"hits", rule.hits}});
  }
  return {{"rules", std::move(list)}};
}

}  // namespace simulator
