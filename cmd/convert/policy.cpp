#include "cmd/convert/policy.hpp"

#include <fmt/format.h>

#include <array>

#include "api/json/yaml.hpp"
#include "base/base64.hpp"
#include "cmd/convert/parts.hpp"
#include "cmd/convert/surroundings.hpp"
#include "cmd/convert/wrappers.hpp"

namespace convert {
namespace {

constexpr int kMaxNesting = 4;  // a ConfigMap in a List in …
constexpr const char* kReleaseOfHelm = "helm.sh/release.v1";

/// Appended to an error about text that is not an object.
constexpr std::string_view kHowToGet =
    "; use YAML or JSON, such as the output of `kubectl get configmap NAME -o yaml` or `helm get values --all RELEASE`";

constexpr int kMaxDepth = 32;

bool is_policy(const Json& json) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    return text.find("descheduler/v1alpha") != std::string::npos || text.find("deschedulerPolicy") != std::string::npos;
  }
  if (!json.is_object()) return false;
  const bool is_one = text_at(json, {"apiVersion"}).starts_with("descheduler/") || json.contains("deschedulerPolicy");
  return is_one || (text_at(json, {"kind"}) == "KubeDescheduler" && json.contains("spec"));
}

/// Returns true if the value of `deschedulerPolicy` is itself the policy. The chart's values, to which the chart's
/// defaults apply, are separate files; in an object of an unknown kind only the policy is meant.
bool is_bare_policy_holder(const Json& json) {
  const Json* policy = find_at(json, {"deschedulerPolicy"});
  return policy != nullptr && (policy->contains("strategies") || policy->contains("profiles"));
}

std::optional<FieldPath> search(const Json& json, const FieldPath& at, bool in_object, int depth) {
  if (is_policy(json)) return in_object && is_bare_policy_holder(json) ? at.field("deschedulerPolicy") : at;
  if (depth >= kMaxDepth || !json.is_structured()) return std::nullopt;
  std::size_t index = 0;
  for (const auto& [key, value] : json.items()) {
    const FieldPath below = json.is_array() ? at.index(index++) : at.key(key);
    if (auto found = search(value, below, in_object, depth + 1)) return found;
  }
  return std::nullopt;
}

/// Returns why the text is not a rendered manifest. Empty if it looks like one.
std::string template_hint(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '<')
    return "the file is HTML or XML: did you download a web page instead of the file? (use the raw URL, and log in if "
           "necessary)";
  const auto holds = [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; };
  if (holds("{{") || holds("{%"))
    return "the file contains {{ … }}: render the template first (`helm template`, or the tool that renders it)";
  if (holds("${"))
    return "the file contains ${ … }: substitute the variables first (`flux build kustomization`, `envsubst`)";
  return {};
}

/// Returns the command that renders manifests from an object such as a kustomization, an empty string for other
/// objects.
std::string renderer_of(const Json& json) {
  const std::string version = text_at(json, {"apiVersion"});
  if (text_at(json, {"kind"}) == "Kustomization" && version.starts_with("kustomize.toolkit.fluxcd.io/"))
    return "flux build kustomization NAME --path DIR --kustomization-file FILE";
  const bool is_kustomization = version.empty() || version.starts_with("kustomize.config.k8s.io/");
  if (is_kustomization && json.contains("helmCharts")) return "kustomize build --enable-helm DIR";
  for (const char* member : {"resources", "configMapGenerator", "patches", "patchesStrategicMerge"}) {
    if (is_kustomization && json.contains(member) && !json.contains("deschedulerPolicy"))
      return "kubectl kustomize DIR";
  }
  const bool is_helmfile = version.empty() && json.contains("releases") && json["releases"].is_array();
  return is_helmfile ? "helmfile template" : "";
}

/// Returns the first path in `json` that looks like a policy, chart values or a KubeDescheduler, nullopt if there is
/// none. Searches 32 levels deep.
std::optional<FieldPath> deeper_policy(const Json& json, const FieldPath& at) {
  return search(json, at, !text_at(json, {"apiVersion"}).empty(), 0);
}

/// Finds the policies in an input: bare, or wrapped in other objects.
class UpstreamFinder {
 public:
  explicit UpstreamFinder(ConversionContext& bench) : context_(bench) {}

  void parse_and_search(std::string_view text, const FieldPath& at, int depth = 0) {
    const auto documents = api::parse_yaml(text);
    if (!documents) return context_.error(at, documents.error().message);
    const auto place = [&](std::size_t i) { return documents->size() == 1 ? at : at.field("documents").index(i); };
    if (depth == 0) {
      for (std::size_t i = 0; i < documents->size(); ++i) index_.add((*documents)[i], place(i));
    }
    for (std::size_t i = 0; i < documents->size(); ++i) look_at((*documents)[i], place(i), depth);
    if (depth == 0) index_ = {};  // holds pointers into the documents
  }
  bool found() const { return found_; }
  /// Returns true if every document is empty.
  bool is_empty() const { return is_empty_; }
  /// Returns the command that renders the input (a kustomization or helmfile), an empty string for other inputs.
  const std::string& render_command() const { return renderer_; }
  /// Returns the path of a possible policy inside an object of unknown kind, nullopt if there is none.
  const std::optional<FieldPath>& nested_policy() const { return deeper_; }
  /// Returns the path of the first object encrypted by SOPS, nullopt if there is none.
  const std::optional<FieldPath>& encrypted() const { return encrypted_; }

 private:
  void look_at(const Json& json, const FieldPath& at, int depth) {
    is_empty_ = false;
    if (!json.is_object()) {
      if (!deeper_ && !json.is_string()) deeper_ = deeper_policy(json, at);
      return context_.error(at, fmt::format("must be a policy of the descheduler, not {}{}", kind_of(json),
                                            json.is_string() ? kHowToGet : ""));
    }
    const std::string version = text_at(json, {"apiVersion"});
    const std::string kind = text_at(json, {"kind"});
    if (!encrypted_ && kind != "Secret" && find_at(json, {"sops", "mac"}) != nullptr) encrypted_ = at;
    if (version.starts_with("descheduler/") && kind == "DeschedulerConfiguration") {
      found_ = true;
      return read_koordinator(json, at, context_);
    }
    if (version.starts_with("descheduler/")) return look_at_policy(json, version, kind, at);
    if (version.starts_with("deckhouse.io/") && kind == "Descheduler" && find_at(json, {"spec"}) != nullptr) {
      found_ = true;
      return read_deckhouse(json["spec"], at.field("spec"), context_);
    }
    if (version == "v1" && kind == "ConfigMap") return look_into_config_map(json, at, depth);
    if (version == "v1" && kind == "Secret") return look_into_secret(json, at, depth);
    if (kind.ends_with("List") && json.contains("items")) return look_into_list(json, at, depth);
    if (version.starts_with("evacuator.dev/")) {
      found_ = true;
      return context_.error(at.field("apiVersion"),
                            fmt::format("{} is already a resource of Evacuator: there is nothing to convert", version));
    }
    if (kind == "KubeDescheduler") {
      found_ = true;
      return read_kube_descheduler(json, at, context_);
    }
    if (const auto wrapped = unwrap_values(json, at, index_, context_)) return look_at_wrapped(*wrapped);
    if (renderer_.empty()) renderer_ = renderer_of(json);
    if (!deeper_) deeper_ = deeper_policy(json, at);
    if (!version.empty()) return;  // an object of another kind in the same input
    look_at_body(json, at);
  }

  void look_at_policy(const Json& json, const std::string& version, const std::string& kind, const FieldPath& at) {
    found_ = true;
    if (kind != "DeschedulerPolicy") return context_.error(at.field("kind"), "must be DeschedulerPolicy");
    if (version == "descheduler/v1alpha2") return read_as(read_v1alpha2, json, at);
    if (version == "descheduler/v1alpha1") return read_as(read_v1alpha1, json, at);
    context_.error(at.field("apiVersion"), "must be descheduler/v1alpha2 or descheduler/v1alpha1");
  }

  /// Reads the policy with the settings of the process that uses it.
  template <typename Read>
  void read_as(Read read, const Json& policy, const FieldPath& at) {
    const ProcessSettings started = index_.started_with(config_map_, context_);
    Json whole = policy;
    for (const auto& [name, value] : started.policy_defaults.items()) {
      if (!whole.contains(name)) whole[name] = value;
    }
    read(whole, at, started.common, context_);
  }

  void look_at_wrapped(const std::vector<WrappedValues>& wrapped) {
    for (const WrappedValues& each : wrapped) {
      if (!may_be_descheduler_chart(each)) continue;
      if (!each.unread.empty()) {
        found_ = true;
        context_.error(FieldPath(each.unread),
                       "the policy is in another object that this object names; convert that object, or the running "
                       "configuration: `helm get values --all RELEASE | evacuator convert -`");
        continue;
      }
      if (look_at_values(each.values, each.at, each.minor)) continue;
      // Upstream's chart without user values: only its defaults apply.
      found_ = true;
      read_chart_values(each.values, each.at, each.minor, context_);
    }
  }

  /// Reads values of the chart, at the top level or under the name of the sub-chart. Returns false if `json` does not
  /// look like values.
  bool look_at_values(const Json& json, const FieldPath& at, std::optional<int> minor) {
    const auto below = json.find("descheduler");
    if (json.contains("deschedulerPolicy") && is_deckhouse_spec(json)) {
      read_deckhouse(json, at, context_);
    } else if (is_chart_values(json)) {
      read_chart_values(json, at, minor, context_);
    } else if (below != json.end() && below->is_object() && is_chart_values(*below)) {
      read_chart_values(*below, at.field("descheduler"), std::nullopt, context_);
    } else {
      return false;
    }
    found_ = true;
    return true;
  }

  /// Reads a document without a version: values, or the body of a policy.
  void look_at_body(const Json& json, const FieldPath& at) {
    if (look_at_values(json, at, std::nullopt)) return;
    if (json.contains("profiles")) {
      found_ = true;
      read_as(read_v1alpha2, json, at);
    } else if (json.contains("strategies")) {
      found_ = true;
      if (is_deckhouse_spec(json)) return read_deckhouse(json, at, context_);
      read_as(read_v1alpha1, json, at);
    } else if (context_.options().chart_minor) {
      found_ = true;
      read_chart_values(json, at, std::nullopt, context_);
    }
  }

  void look_into_config_map(const Json& json, const FieldPath& at, int depth) {
    if (index_.supplies_values(json)) return;  // read with the HelmRelease
    config_map_ = text_at(json, {"metadata", "name"});
    look_into_texts(json, "data", Encoding::kNone, at, depth);
    look_into_texts(json, "binaryData", Encoding::kBase64, at, depth);
    config_map_.clear();
  }

  void look_into_secret(const Json& json, const FieldPath& at, int depth) {
    if (text_at(json, {"type"}) == kReleaseOfHelm) {
      if (renderer_.empty()) renderer_ = "helm get values --all RELEASE";
      return;
    }
    if (index_.supplies_values(json)) return;
    look_into_texts(json, "data", Encoding::kBase64, at, depth);
    look_into_texts(json, "stringData", Encoding::kNone, at, depth);
  }

  enum class Encoding { kNone, kBase64 };

  /// Looks for policies and chart values in the texts of a ConfigMap or Secret. Other texts, and texts that cannot be
  /// decoded, are ignored.
  void look_into_texts(const Json& json, const char* member, Encoding encoding, const FieldPath& at, int depth) {
    const Json* data = find_at(json, {member});
    if (depth >= kMaxNesting || data == nullptr || !data->is_object()) return;
    for (const auto& [key, value] : data->items()) {
      if (!value.is_string() && !deeper_) deeper_ = deeper_policy(value, at.field(member).key(key));
      if (!value.is_string()) continue;
      const auto& text = value.get_ref<const std::string&>();
      const auto decoded =
          encoding == Encoding::kBase64 && text.size() <= kMaxEncoded ? base::decode_base64(text) : std::nullopt;
      const std::string_view plain = encoding == Encoding::kNone ? text : decoded ? *decoded : std::string_view();
      const auto names = [&](std::string_view kind) { return plain.find(kind) != std::string_view::npos; };
      if (!names("eschedulerPolicy") && !names("DeschedulerConfiguration")) continue;
      parse_and_search(plain, at.field(member).key(key), depth + 1);
    }
  }

  void look_into_list(const Json& json, const FieldPath& at, int depth) {
    const Json& items = json["items"];
    if (depth >= kMaxNesting || !items.is_array()) return;
    for (std::size_t i = 0; i < items.size(); ++i) look_at(items[i], at.field("items").index(i), depth + 1);
  }

  ConversionContext& context_;
  InputIndex index_;
  std::string config_map_;  ///< name of the ConfigMap being searched
  bool found_ = false;
  bool is_empty_ = true;
  std::string renderer_;
  std::optional<FieldPath> deeper_;
  std::optional<FieldPath> encrypted_;
};

/// Reports why no policy was found, or that the input is encrypted.
void report_no_policy(const UpstreamFinder& finder, std::string_view text, ConversionContext& bench) {
  const bool is_silent = !finder.found() && bench.errors().empty();
  if (finder.encrypted() && (!finder.found() || !bench.errors().empty())) {
    bench.error(finder.encrypted()->field("sops"),
                "is encrypted: decrypt it first (`sops decrypt FILE | evacuator convert -`)");
  } else if (finder.is_empty() && bench.errors().empty()) {
    bench.error(FieldPath(), std::string(api::kEmptyInput));
  } else if (is_silent && !finder.render_command().empty()) {
    bench.error(
        FieldPath(),
        fmt::format(
            "contains no policy, but instructions to render manifests: render them first (`{} | evacuator convert -`)",
            finder.render_command()));
  } else if (!finder.found() && finder.nested_policy()) {
    bench.error(*finder.nested_policy(),
                "the object may contain a policy at this field, but convert does not know the object's kind: pass only "
                "this field");
  } else if (is_silent) {
    bench.error(FieldPath("apiVersion"),
                "the input contains no policy of the descheduler: neither apiVersion descheduler/v1alpha2 or v1alpha1, "
                "nor values of its chart (deschedulerPolicy), on their own or in a HelmRelease, Application or "
                "HelmChart, nor a KubeDescheduler");
  }
  if (bench.errors().empty()) return;
  if (const std::string hint = template_hint(text); !hint.empty()) bench.error(FieldPath(), hint);
}

constexpr std::array kNoteNames = {
    api::WireName{NoteKind::kDropped, "dropped"}, api::WireName{NoteKind::kChanged, "changed"},
    api::WireName{NoteKind::kIgnored, "ignored"}, api::WireName{NoteKind::kAdded, "added"}};

}  // namespace

std::string_view to_string(NoteKind kind) { return api::name_of(kNoteNames, kind); }

std::string ConversionNote::to_string() const {
  std::string text = fmt::format("{} {}: {}", convert::to_string(kind), path.empty() ? "the policy" : path, why);
  if (!advice.empty()) text += "; " + advice;
  return text;
}

Conversion convert_upstream(std::string_view text, const StrategyCatalogue& catalogue, const UpstreamOptions& options) {
  ConversionContext bench(catalogue, options);
  UpstreamFinder finder(bench);
  finder.parse_and_search(text, FieldPath());
  report_no_policy(finder, text, bench);
  return bench.finish();
}

}  // namespace convert
