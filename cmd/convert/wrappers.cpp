#include "cmd/convert/wrappers.hpp"

#include <fmt/format.h>

#include <array>

#include "api/json/yaml.hpp"

namespace convert {
namespace {

constexpr std::string_view kChart = "descheduler";
constexpr const char* kAdvice = "`helm get values --all RELEASE | evacuator convert -` contains all of them";

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

std::string first_of(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) return text;
  }
  return {};
}

bool has_some(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && !found->is_null() && !found->empty();
}

/// Returns true if the values, or those of the sub-chart in them, contain a policy.
bool has_policy(const WrappedValues& wrapped) {
  return wrapped.values.contains("deschedulerPolicy") ||
         object_at(wrapped.values, {kChart}).contains("deschedulerPolicy");
}

void read_text(const Json& holder, const char* name, const FieldPath& at, WrappedValues& into,
               ConversionContext& bench) {
  const auto text = holder.find(name);
  if (text == holder.end() || text->is_null()) return;
  into.at = at.field(name);
  if (!text->is_string()) return bench.error(into.at, fmt::format("must be a string, not {}", kind_of(*text)));
  const auto documents = api::parse_yaml(text->get_ref<const std::string&>());
  if (!documents) return bench.error(into.at, documents.error().message);
  if (documents->empty()) return;
  if (documents->size() > 1 || !documents->front().is_object())
    return bench.error(into.at, "must be values of a chart: one YAML object");
  into.values = documents->front();
}

/// Reads values written as an object, which override values written as text.
void read_object(const Json& holder, const char* name, const FieldPath& at, WrappedValues& into,
                 ConversionContext& bench) {
  const auto values = holder.find(name);
  if (values == holder.end() || values->is_null()) return;
  into.at = at.field(name);
  if (!values->is_object()) return bench.error(into.at, fmt::format("must be an object, not {}", kind_of(*values)));
  into.values = *values;
}

/// Adds a note for members that set values in Helm's --set syntax.
void note_others(const Json& holder, std::initializer_list<const char*> names, const FieldPath& at,
                 const WrappedValues& wrapped, ConversionContext& bench) {
  if (!may_be_descheduler_chart(wrapped)) return;
  for (const char* name : names) {
    if (has_some(holder, name))
      bench.note(NoteKind::kDropped, at.field(name), "contains further values, which are not read", kAdvice);
  }
}

/// Handles a member that references values outside of the input: adds a note if the values read contain a policy, else
/// marks the values as unread.
void note_unread(const FieldPath& at, WrappedValues& wrapped, ConversionContext& bench) {
  if (!may_be_descheduler_chart(wrapped)) return;
  if (has_policy(wrapped))
    return bench.note(NoteKind::kDropped, at, "contains further values, which are not read", kAdvice);
  wrapped.unread = at.text();
}

/// Merges `lower` under `values` like Flux: a null stays, and later deletes the chart's default.
void merge_defaults(Json& values, const Json& lower) {
  for (const auto& [key, value] : lower.items()) {
    const auto [found, is_new] = values.emplace(key, value);
    if (!is_new && found->is_object() && value.is_object()) merge_defaults(*found, value);
  }
}

/// Merges the text under `key` of a ConfigMap or Secret in the same input under `values`. Returns false if it is not in
/// the input or is not text.
bool merge_values_from(const ValuesRef& lender, const std::string& key, const FieldPath& at, const InputIndex& around,
                       Json& values, ConversionContext& bench) {
  auto text = around.values_text(lender, key);
  if (!text) return false;
  WrappedValues read;
  read_text({{key, *std::move(text)}}, key.c_str(), at.key(lender.name), read, bench);
  merge_defaults(values, read.values);
  return true;
}

/// Reads spec.valuesFrom. Entries with a targetPath are not read, because Flux stores them at that path.
void read_values_from(const Json& object, const FieldPath& at, const InputIndex& around, WrappedValues& wrapped,
                      ConversionContext& bench) {
  const Json& sources = items_at(object, {"spec", "valuesFrom"});
  bool all = true;
  for (std::size_t i = sources.size(); i-- > 0;) {  // later entries override earlier ones
    const ValuesRef lender{text_at(sources[i], {"kind"}), text_at(object, {"metadata", "namespace"}),
                           text_at(sources[i], {"name"})};
    const std::string key = first_of({text_at(sources[i], {"valuesKey"}), "values.yaml"});
    all = text_at(sources[i], {"targetPath"}).empty() &&
          merge_values_from(lender, key, at.index(i), around, wrapped.values, bench) && all;
  }
  if (!all) note_unread(at, wrapped, bench);
}

std::vector<WrappedValues> of_helm_release(const Json& object, const FieldPath& at, const InputIndex& around,
                                           ConversionContext& bench) {
  const Json& spec = object_at(object, {"spec"});
  const Json& chart = object_at(spec, {"chart"});  // the older Helm operator has no nested spec
  WrappedValues wrapped;
  wrapped.chart = last_part(first_of({text_at(chart, {"spec", "chart"}), text_at(chart, {"name"}),
                                      text_at(spec, {"releaseName"}), text_at(object, {"metadata", "name"})}));
  wrapped.minor = chart_minor_of(first_of({text_at(chart, {"spec", "version"}), text_at(chart, {"version"})}));
  wrapped.at = at.field("spec").field("values");
  read_object(spec, "values", at.field("spec"), wrapped, bench);
  if (!wrapped.minor) wrapped.minor = around.chart_minor(text_at(spec, {"chartRef", "name"}));
  read_values_from(object, at.field("spec").field("valuesFrom"), around, wrapped, bench);
  return {wrapped};
}

WrappedValues of_argo_source(const Json& source, const std::string& name, const FieldPath& at,
                             ConversionContext& bench) {
  const Json& helm = object_at(source, {"helm"});
  WrappedValues wrapped;
  const std::string path = text_at(source, {"path"});
  wrapped.chart = last_part(first_of({text_at(source, {"chart"}), path, text_at(helm, {"releaseName"}), name}));
  if (path.empty()) wrapped.minor = chart_minor_of(text_at(source, {"targetRevision"}));
  wrapped.at = at.field("helm");
  read_text(helm, "values", at.field("helm"), wrapped, bench);
  read_object(helm, "valuesObject", at.field("helm"), wrapped, bench);
  if (has_some(helm, "valueFiles")) note_unread(at.field("helm").field("valueFiles"), wrapped, bench);
  note_others(helm, {"parameters", "fileParameters"}, at.field("helm"), wrapped, bench);
  return wrapped;
}

std::vector<WrappedValues> of_application(const Json& object, const FieldPath& at, const InputIndex&,
                                          ConversionContext& bench) {
  const bool is_set = text_at(object, {"kind"}) == "ApplicationSet";
  const Json& spec = is_set ? object_at(object, {"spec", "template", "spec"}) : object_at(object, {"spec"});
  const FieldPath below = is_set ? at.field("spec").field("template").field("spec") : at.field("spec");
  const std::string name = text_at(object, {"metadata", "name"});
  std::vector<WrappedValues> all;
  if (spec.contains("source")) all.push_back(of_argo_source(spec["source"], name, below.field("source"), bench));
  const Json& sources = items_at(spec, {"sources"});
  for (std::size_t i = 0; i < sources.size(); ++i) {
    // Skip a source that only provides files to other sources.
    if (text_at(sources[i], {"chart"}).empty() && object_at(sources[i], {"helm"}).empty()) continue;
    all.push_back(of_argo_source(sources[i], name, below.field("sources").index(i), bench));
  }
  return all;
}

std::vector<WrappedValues> of_helm_chart(const Json& object, const FieldPath& at, const InputIndex&,
                                         ConversionContext& bench) {
  const Json& spec = object_at(object, {"spec"});
  WrappedValues wrapped;
  wrapped.chart = last_part(first_of({text_at(spec, {"chart"}), text_at(object, {"metadata", "name"})}));
  wrapped.minor = chart_minor_of(text_at(spec, {"version"}));
  wrapped.at = at.field("spec").field("valuesContent");
  read_text(spec, "valuesContent", at.field("spec"), wrapped, bench);
  read_object(spec, "values", at.field("spec"), wrapped, bench);
  if (has_some(spec, "valuesSecrets")) note_unread(at.field("spec").field("valuesSecrets"), wrapped, bench);
  note_others(spec, {"set"}, at.field("spec"), wrapped, bench);
  return {wrapped};
}

struct Wrapper {
  std::string_view group;
  std::string_view kind;
  std::vector<WrappedValues> (*unwrap)(const Json& object, const FieldPath& at, const InputIndex& around,
                                       ConversionContext& bench);
};
constexpr std::array kWrappers = {
    Wrapper{"helm.toolkit.fluxcd.io", "HelmRelease", of_helm_release},
    Wrapper{"helm.fluxcd.io", "HelmRelease", of_helm_release},
    Wrapper{"flux.weave.works", "HelmRelease", of_helm_release},
    Wrapper{"argoproj.io", "Application", of_application},
    Wrapper{"argoproj.io", "ApplicationSet", of_application},
    Wrapper{"helm.cattle.io", "HelmChart", of_helm_chart},
    Wrapper{"helm.cattle.io", "HelmChartConfig", of_helm_chart},
};

}  // namespace

bool may_be_descheduler_chart(const WrappedValues& wrapped) { return wrapped.chart == kChart || has_policy(wrapped); }

std::optional<std::vector<WrappedValues>> unwrap_values(const Json& object, const FieldPath& at,
                                                        const InputIndex& around, ConversionContext& bench) {
  const std::string version = text_at(object, {"apiVersion"});
  const std::string kind = text_at(object, {"kind"});
  for (const Wrapper& each : kWrappers) {
    if (kind == each.kind && version.substr(0, version.find('/')) == each.group)
      return each.unwrap(object, at, around, bench);
  }
  return std::nullopt;
}

}  // namespace convert
