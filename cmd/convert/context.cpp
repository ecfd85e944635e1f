#include "cmd/convert/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/meta/well_known.hpp"
#include "cmd/convert/parts.hpp"

namespace convert {
namespace {

constexpr std::string_view kArgsOfOne = "spec.strategies[0].args";
constexpr const char* kIgnoredByUpstream = "upstream ignores it silently";
constexpr const char* kFixAdvice = "correct or remove it";
constexpr std::size_t kMaxRounds = 64;  // maximum number of rounds to fix the args of one strategy

/// Returns true if `path` equals `prefix` or is below it.
bool is_below(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) &&
         (path.size() == prefix.size() || path[prefix.size()] == '.' || path[prefix.size()] == '[');
}

/// Returns the member of the args that an error path refers to: "thresholds" for
/// "spec.strategies[0].args.thresholds.cpu".
std::string_view member_of_args(std::string_view path) {
  if (!path.starts_with(kArgsOfOne) || path.size() < kArgsOfOne.size() + 2) return {};
  path.remove_prefix(kArgsOfOne.size() + 1);
  return path.substr(0, path.find_first_of(".["));
}

/// Erases the member at a path such as ".namespaces.other" or "[a/b]". Returns false if it does not exist. Does not
/// descend into arrays.
bool erase_at(Json& json, std::string_view path) {
  if (!json.is_object() || path.empty()) return false;
  const bool in_brackets = path.starts_with('[');
  path.remove_prefix(1);
  if (json.erase(std::string(path)) > 0) return true;  // a name with dots is one member
  const std::size_t length = std::min(path.find_first_of(in_brackets ? "]" : ".["), path.size());
  const auto found = json.find(std::string(path.substr(0, length)));
  if (found == json.end()) return false;
  path.remove_prefix(std::min(length + (in_brackets ? 1 : 0), path.size()));
  if (!path.empty()) return erase_at(*found, path);
  json.erase(found);
  return true;
}

std::vector<Origin> origins_of_args(const StrategySource& source, std::string_view ours) {
  std::vector<Origin> origins = {{std::string(ours), source.at.text()}};
  for (const auto& [member, at] : source.members) origins.push_back({fmt::format("{}.{}", ours, member), at.text()});
  return origins;
}

/// Returns the path recorded for a member or an item, such as "states[1]", else that of its member.
FieldPath path_of(const StrategySource& source, std::string_view item) {
  const auto at = std::ranges::find(source.members, item, &std::pair<std::string, FieldPath>::first);
  if (at != source.members.end()) return at->second;
  const std::string_view member = item.substr(0, item.find_first_of(".["));
  return member.size() < item.size() ? path_of(source, member) : source.at.field(member);
}

struct ArgOfOurs {
  std::string_view strategy;
  const char* name;
  const char* advice = "add it to the generated policy";
};
/// Args that the catalogue accepts and upstream's strict decoder rejects.
constexpr std::array kArgsOfOurs = {
    ArgOfOurs{"HighNodeUtilization", "targetThresholds",
              "remove it: nodes are filled up to their capacity; it has an effect only with `usage`"},
    ArgOfOurs{"HighNodeUtilization", "ignoreDaemonSets"},
    ArgOfOurs{"HighNodeUtilization", "nodePools"},
    ArgOfOurs{"HighNodeUtilization", "usage", "add it, and its source in usageSources, to the generated policy"},
    ArgOfOurs{"LowNodeUtilization", "nodePools"},
    ArgOfOurs{"LowNodeUtilization", "usage", "add it, and its source in usageSources, to the generated policy"},
    ArgOfOurs{"PodLifeTime", "terminalPods"},
    ArgOfOurs{"RemoveDuplicates", "labelSelector"},
    ArgOfOurs{"RemoveFailedPods", "terminalPods"},
    ArgOfOurs{"RemovePodsHavingTooManyRestarts", "withinSeconds"},
};

/// An arg of PodLifeTime that mostly or only selects terminated pods.
struct EndedCriterion {
  std::string member;  ///< "states[1]"
  std::string why;
};

template <typename Predicate>
std::optional<std::size_t> index_in(const Json& list, Predicate predicate) {
  if (!list.is_array()) return std::nullopt;
  const auto at = std::find_if(list.begin(), list.end(), predicate);
  return at == list.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - list.begin()));
}

std::optional<EndedCriterion> ended_state(const Json& states) {
  constexpr std::array kEnded = {
      "Completed",          "Error",        "OOMKilled", "DeadlineExceeded",        "Evicted", "Shutdown", "StartError",
      "ContainerCannotRun", "NodeAffinity", "NodeLost",  "UnexpectedAdmissionError"};
  const auto i = index_in(
      states, [&](const Json& state) { return std::find(kEnded.begin(), kEnded.end(), state) != kEnded.end(); });
  if (!i) return std::nullopt;
  return EndedCriterion{fmt::format("states[{}]", *i),
                        states[*i].get<std::string>() + " usually selects pods that have terminated"};
}

/// Returns the criterion that selects terminated pods. All criteria must match, so if `states` is set, only it decides.
std::optional<EndedCriterion> ended_criterion(const Json& args) {
  const Json& states = items_at(args, {"states"});
  if (!states.empty()) return ended_state(states);
  if (!items_at(args, {"exitCodes"}).empty())
    return EndedCriterion{"exitCodes", "selects terminated containers, usually in pods that have terminated"};
  const Json& conditions = items_at(args, {"conditions"});
  const auto i = index_in(conditions, [](const Json& condition) {
    const std::string reason = text_at(condition, {"reason"});
    return reason == "PodCompleted" || reason == "PodFailed";
  });
  if (!i) return std::nullopt;
  return EndedCriterion{fmt::format("conditions[{}]", *i),
                        text_at(conditions[*i], {"reason"}) + " is a reason of pods that have terminated"};
}

std::string unique_name(std::string wanted, const std::vector<std::string>& taken) {
  std::string name = wanted;
  for (int n = 2; std::ranges::find(taken, name) != taken.end(); ++n) name = fmt::format("{}-{}", wanted, n);
  return name;
}

/// Translates the error's path by the longest matching origin: "spec.limits.perCycle.total: -1 …" becomes
/// "maxNoOfPodsToEvictTotal: -1 …".
FieldError at_origin(FieldError error, const std::vector<Origin>& origins) {
  const Origin* best = nullptr;
  for (const Origin& origin : origins) {
    if (is_below(error.path, origin.evacuator_path) &&
        (best == nullptr || origin.evacuator_path.size() > best->evacuator_path.size()))
      best = &origin;
  }
  if (best == nullptr) return error;
  error.path.replace(0, best->evacuator_path.size(), best->upstream_path);
  if (best->upstream_path.empty() && error.path.starts_with('.')) error.path.erase(0, 1);
  return error;
}

}  // namespace

void Draft::set(const std::string& field, Json value, const FieldPath& at) {
  Json* target = &spec;
  for (std::size_t from = 0; from < field.size();) {
    const std::size_t to = std::min(field.find('.', from), field.size());
    target = &(*target)[field.substr(from, to - from)];
    from = to + 1;
  }
  *target = std::move(value);
  origins.push_back({"spec." + field, at.text()});
}

void ConversionContext::note(NoteKind kind, const FieldPath& at, std::string why, std::string advice) {
  ConversionNote note{kind, at.text(), std::move(why), std::move(advice)};
  if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(std::move(note));
}

bool ConversionContext::reject_own_args(StrategySource& source) {
  if (source.uses_own_schema) return false;
  const std::size_t before = errors_.size();
  for (const ArgOfOurs& each : kArgsOfOurs) {
    if (each.strategy != source.name || !source.args.contains(each.name)) continue;
    if (source.lenient) {
      source.args.erase(each.name);
      note(NoteKind::kDropped, path_of(source, each.name), kIgnoredByUpstream, kFixAdvice);
      continue;
    }
    error(path_of(source, each.name),
          fmt::format("upstream has no such field, and rejects it when it starts; {}", each.advice));
  }
  return errors_.size() > before;
}

/// For input that upstream's decoder read leniently: removes an unknown field with a note. Returns true if the
/// complaint was about one.
bool ConversionContext::drop_unknown_field(StrategySource& source, const FieldError& complaint) {
  if (!source.lenient || !complaint.message.starts_with("unknown field") || !complaint.path.starts_with(kArgsOfOne))
    return false;
  if (!erase_at(source.args, std::string_view(complaint.path).substr(kArgsOfOne.size()))) return false;
  const FieldError theirs = at_origin(complaint, origins_of_args(source, kArgsOfOne));
  note(NoteKind::kDropped, FieldPath(theirs.path), complaint.message + "; " + kIgnoredByUpstream, kFixAdvice);
  return true;
}

/// Returns true if the complaint was resolved by changing the args or by dropping the strategy with a note.
bool ConversionContext::resolve_complaint(StrategySource& source, const FieldError& complaint) {
  const std::string member(member_of_args(complaint.path));
  if (complaint.message.find("set terminalPods:") != std::string::npos && !source.args.contains("terminalPods")) {
    source.args["terminalPods"] = {{"evict", true}};
    note(NoteKind::kChanged, path_of(source, std::string_view(complaint.path).substr(kArgsOfOne.size() + 1)),
         "selects pods that have terminated; terminalPods.evict is required for them and is set");
    return true;
  }
  if (member == "numberOfNodes" && complaint.message.ends_with("is below 0")) {
    note(NoteKind::kChanged, path_of(source, member), complaint.message + ", which upstream treats as 0");
    source.args[member] = 0;
    return true;
  }
  if (complaint.message != "not supported yet" || member.empty()) return false;
  note(NoteKind::kDropped, path_of(source, member), "is not supported yet");
  source.args.erase(member);
  return true;
}

/// Returns true if the catalogue accepts the strategy. Otherwise errors and notes were added.
bool ConversionContext::resolve_complaints(StrategySource& source) {
  for (std::size_t round = 0;; ++round) {
    const FieldErrors complaints = catalogue_.check({{source.name, to_json_text(source.args)}});
    if (complaints.empty()) return true;
    bool settled = false;
    for (const FieldError& complaint : complaints) {
      if (round < kMaxRounds && (resolve_complaint(source, complaint) || drop_unknown_field(source, complaint))) {
        settled = true;
        break;
      }
    }
    if (source.name.empty()) return false;
    if (settled) continue;
    const auto origins = origins_of_args(source, kArgsOfOne);
    for (const FieldError& complaint : complaints) errors_.push_back(at_origin(complaint, origins));
    return false;
  }
}

/// Sets terminalPods.evict if the args select terminated pods: upstream evicts such pods without it, Evacuator requires
/// it.
void ConversionContext::allow_terminated_pods(StrategySource& source) {
  if (source.name != "PodLifeTime" || source.args.contains("terminalPods")) return;
  const auto ended = ended_criterion(source.args);
  if (!ended) return;
  source.args["terminalPods"] = {{"evict", true}};
  note(NoteKind::kChanged, path_of(source, ended->member),
       ended->why + "; terminalPods.evict is required for them and is set", "remove it if terminated pods are to stay");
}

void ConversionContext::add_strategy(Draft& draft, StrategySource source) {
  if (std::ranges::find(catalogue_.names, source.name) == catalogue_.names.end()) {
    return note(NoteKind::kDropped, source.at, fmt::format("the strategy {} is not supported yet", source.name),
                "keep upstream's descheduler for it, with a policy that contains only this strategy");
  }
  // A config file may set the type of the args; upstream ignores it.
  for (const char* of_type : {"apiVersion", "kind"}) source.args.erase(of_type);
  if (reject_own_args(source) || !resolve_complaints(source)) return;
  allow_terminated_pods(source);
  Json strategy = {{"name", source.name}};
  if (!source.args.empty()) strategy["args"] = source.args;
  Json& strategies = draft.spec["strategies"];
  const auto ours = fmt::format("spec.strategies[{}].args", strategies.size());
  for (Origin& origin : origins_of_args(source, ours)) draft.origins.push_back(std::move(origin));
  strategies.push_back(std::move(strategy));
}

void ConversionContext::add_drafts(std::vector<Draft> drafts, const Draft& common) {
  std::erase_if(drafts, [&](const Draft& draft) {
    if (draft.spec.contains("strategies")) return false;
    note(NoteKind::kIgnored, FieldPath(draft.source),
         "enables no strategy that could be converted: no policy is written");
    return true;
  });
  if (drafts.size() > 1 && common.spec.contains("limits")) {
    for (const Origin& origin : common.origins) {
      if (!origin.evacuator_path.starts_with("spec.limits.perCycle.")) continue;
      note(NoteKind::kChanged, FieldPath(origin.upstream_path),
           fmt::format("applies to each of the {} policies separately; upstream shares it among all profiles",
                       drafts.size()),
           "lower it, or limit all of them together with limits.inFlight of the operator's configuration");
    }
  }
  for (Draft& draft : drafts) {
    Json nodes = common.spec.value("nodeSelector", Json());
    if (!nodes.is_null() && draft.spec.contains("nodeSelector"))
      nodes = both_selectors(std::move(nodes), draft.spec["nodeSelector"]);
    if (!nodes.is_null()) draft.spec.erase("nodeSelector");
    draft.spec.update(common.spec, true);  // merges objects recursively because both may have limits
    if (!nodes.is_null()) draft.spec["nodeSelector"] = std::move(nodes);
    prune_usage_sources(draft, *this);
    draft.origins.insert(draft.origins.end(), common.origins.begin(), common.origins.end());
    drafts_.push_back(std::move(draft));
  }
}

/// Returns the complete object. Validation errors are reported at the path in the input.
Json ConversionContext::complete(Draft& draft) {
  draft.spec.emplace("mode", to_string(options_.mode));
  draft.spec["compatibility"] = options_.compatibility;
  if (options_.interval) draft.spec["schedule"] = {{"interval", base::format_duration(*options_.interval)}};
  Json object = {{"apiVersion", api::well_known::kApiVersion},
                 {"kind", "DeschedulerPolicy"},
                 {"metadata", {{"name", draft.name}}},
                 {"spec", std::move(draft.spec)}};
  for (const FieldError& complaint : api::check_descheduler_policy(object, {})) {
    errors_.push_back(at_origin(complaint, draft.origins));
  }
  // Each strategy was checked separately; in combination they may conflict.
  std::vector<StrategyChoice> choices;
  for (const Json& each : object["spec"]["strategies"]) {
    choices.push_back({each.at("name").get<std::string>(), to_json_text(each.value("args", Json::object()))});
  }
  for (FieldError& complaint : catalogue_.check(choices)) {
    errors_.push_back({draft.source, std::move(complaint.message)});
  }
  return object;
}

Conversion ConversionContext::finish() {
  Conversion conversion;
  std::vector<std::string> taken;
  for (Draft& draft : drafts_) {
    const std::string wanted = object_name_of(draft.name);
    draft.name = unique_name(wanted.empty() ? "descheduler" : wanted, taken);
    taken.push_back(draft.name);
    conversion.sources.push_back(draft.source);
    conversion.policies.push_back(complete(draft));
  }
  conversion.notes = std::move(notes_);
  conversion.errors = std::move(errors_);
  const auto move = [&](std::string& path) { path = at_origin({path, ""}, moved_).path; };
  for (ConversionNote& each : conversion.notes) move(each.path);
  for (FieldError& each : conversion.errors) move(each.path);
  for (std::string& each : conversion.sources) move(each);
  if (!conversion.errors.empty()) {
    conversion.policies.clear();
    conversion.sources.clear();
  }
  return conversion;
}

void finish_with_notes(StrictObject& object, ConversionContext& bench) {
  FieldErrors& errors = object.errors();
  const std::size_t before = errors.size();
  object.finish();
  const FieldErrors unknown(errors.begin() + static_cast<std::ptrdiff_t>(before), errors.end());
  errors.resize(before);
  for (const FieldError& each : unknown)
    bench.note(NoteKind::kDropped, FieldPath(each.path), each.message + "; " + kIgnoredByUpstream, kFixAdvice);
}

}  // namespace convert
