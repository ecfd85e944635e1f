#include "cmd/convert/surroundings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.hpp"
#include "cmd/convert/process.hpp"

namespace convert {
namespace {

constexpr int kDeepestList = 4;
constexpr std::string_view kPolicyFile = "--policy-config-file";

std::optional<std::string> string_at(const Json& object, std::string_view member, const std::string& key) {
  const Json* value = find_at(object, {member, key});
  return value != nullptr && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

ValuesRef lender_of(const Json& object) {
  return {text_at(object, {"kind"}), text_at(object, {"metadata", "namespace"}), text_at(object, {"metadata", "name"})};
}

/// Returns the minor version of an image, such as 20 for "k8s.gcr.io/descheduler/descheduler:v0.20.0@sha256:…".
std::optional<int> minor_of_image(std::string image) {
  image.erase(std::min(image.find('@'), image.size()));
  const std::size_t colon = image.rfind(':');
  return colon == std::string::npos ? std::nullopt : chart_minor_of(std::string_view(image).substr(colon + 1));
}

void append_texts(const Json& container, const char* member, std::vector<std::string>& words) {
  for (const Json& word : items_at(container, {member})) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
}

/// Parses the flags of a command line: "--a=1 --b 2 --c" yields a → 1, b → 2, c → null.
std::vector<std::pair<std::string, Json>> flags_of(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, Json>> flags;
  for (const std::string& word : words) {
    if (word.starts_with("--")) {
      const std::size_t equals = std::min(word.find('='), word.size());
      flags.emplace_back(word.substr(2, equals - 2), nullptr);
      if (equals < word.size()) flags.back().second = word.substr(equals + 1);
    } else if (!flags.empty() && flags.back().second.is_null()) {
      flags.back().second = word;
    }
  }
  return flags;
}

}  // namespace

bool ValuesRef::fits(const ValuesRef& other) const {
  return kind == other.kind && name == other.name && (ns == other.ns || ns.empty() || other.ns.empty());
}

void InputIndex::add(const Json& object, const FieldPath& at, int depth) {
  if (!object.is_object() || depth > kDeepestList) return;
  const std::string kind = text_at(object, {"kind"});
  if (kind.ends_with("List")) {
    const Json& items = items_at(object, {"items"});
    for (std::size_t i = 0; i < items.size(); ++i) add(items[i], at.field("items").index(i), depth + 1);
  } else if (kind == "OCIRepository" || (kind == "HelmChart" && find_at(object, {"spec", "sourceRef"}) != nullptr)) {
    const std::string tag = text_at(object, {"spec", "ref", "tag"});
    const auto minor = chart_minor_of(tag.empty() ? text_at(object, {"spec", "version"}) : tag);
    if (minor) chart_minors_[text_at(object, {"metadata", "name"})] = *minor;
  } else if (kind == "ConfigMap" || kind == "Secret") {
    held_.push_back({lender_of(object), &object});
  } else if (kind == "HelmRelease") {
    note_lenders(object);
  } else if (kind == "CronJob") {
    if (const Json* spec = find_at(object, {"spec", "jobTemplate", "spec", "template", "spec"}))
      add_starter(object, *spec, at);
  } else if (kind == "Deployment") {
    if (const Json* spec = find_at(object, {"spec", "template", "spec"})) add_starter(object, *spec, at);
  }
}

void InputIndex::note_lenders(const Json& object) {
  const std::string ns = text_at(object, {"metadata", "namespace"});
  for (const Json& each : items_at(object, {"spec", "valuesFrom"}))
    lenders_.push_back({text_at(each, {"kind"}), ns, text_at(each, {"name"})});
}

void InputIndex::add_starter(const Json& object, const Json& pod_spec, const FieldPath& at) {
  UpstreamWorkload starter{&object, at, {}, {}, {}};
  for (const Json& volume : items_at(pod_spec, {"volumes"})) {
    if (const std::string name = text_at(volume, {"configMap", "name"}); !name.empty())
      starter.config_maps.push_back(name);
  }
  for (const Json& container : items_at(pod_spec, {"containers"})) {
    std::vector<std::string> words;
    append_texts(container, "command", words);
    append_texts(container, "args", words);
    const bool of_upstream = std::ranges::any_of(words, [](const auto& word) { return word.starts_with(kPolicyFile); });
    if (!of_upstream) continue;
    starter.words = std::move(words);
    starter.minor = minor_of_image(text_at(container, {"image"}));
    return starters_.push_back(std::move(starter));
  }
}

std::optional<int> InputIndex::chart_minor(const std::string& name) const {
  const auto found = chart_minors_.find(name);
  return found == chart_minors_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> InputIndex::values_text(const ValuesRef& lender, const std::string& key) const {
  const auto held = std::ranges::find_if(held_, [&](const Held& each) { return each.lender.fits(lender); });
  if (held == held_.end()) return std::nullopt;
  const bool is_secret = lender.kind == "Secret";
  const auto plain = string_at(*held->object, is_secret ? "stringData" : "data", key);
  if (plain || !is_secret) return plain;
  const auto encoded = string_at(*held->object, "data", key);
  return encoded && encoded->size() <= kMaxEncoded ? base::decode_base64(*encoded) : std::nullopt;
}

bool InputIndex::supplies_values(const Json& object) const {
  const ValuesRef lender = lender_of(object);
  return std::ranges::any_of(lenders_, [&](const ValuesRef& each) { return each.fits(lender); });
}

ProcessSettings InputIndex::started_with(const std::string& config_map, ConversionContext& bench) const {
  ProcessSettings started;
  const UpstreamWorkload* only = nullptr;
  for (const UpstreamWorkload& each : starters_) {
    const bool mounts = std::ranges::find(each.config_maps, config_map) != each.config_maps.end();
    if (!mounts && !config_map.empty()) continue;
    if (only != nullptr) {
      bench.note(NoteKind::kDropped, each.at,
                 "is the second object that starts upstream with this policy: no schedule is read", "set --interval");
      return started;
    }
    only = &each;
  }
  if (only != nullptr) read_starter(*only, started, bench);
  return started;
}

void InputIndex::read_starter(const UpstreamWorkload& starter, ProcessSettings& started, ConversionContext& bench) {
  const FieldPath at = starter.at.field("spec");
  const bool is_job = text_at(*starter.object, {"kind"}) == "CronJob";
  if (is_job) {
    const std::string cron = text_at(*starter.object, {"spec", "schedule"});
    if (!cron.empty())
      read_cron_schedule({cron, text_at(*starter.object, {"spec", "timeZone"}), at.field("schedule")}, started.common,
                         bench);
    if (flag_at(*starter.object, {"spec", "suspend"})) started.common.spec["suspend"] = true;
  }
  for (const auto& [flag, value] : flags_of(starter.words)) {
    if (read_policy_flag(flag, value, starter.at, starter.minor, started.policy_defaults, bench)) continue;
    if (flag != "descheduling-interval" || is_job || !value.is_string()) continue;
    const auto interval = base::parse_duration(value.get_ref<const std::string&>());
    if (interval && *interval > base::Duration::zero())
      set_interval(std::chrono::duration_cast<base::seconds>(*interval), starter.at, started.common);
  }
}

}  // namespace convert
