#include "cmd/session/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/json/yaml.hpp"
#include "controllers/evacuation/io.hpp"
#include "kube/escape.hpp"
#include "kube/runtime/leader_election.hpp"
#include "usage/sources/make_source.hpp"

namespace cmd::plugin {
namespace {

constexpr base::milliseconds kDefaultTimeout{34'000};
constexpr const char* kUnknownRequester = "kubectl-evacuator";

/// Applies --request-timeout to every call, including those of other components.
class TimedTransport final : public kube::Transport {
 public:
  TimedTransport(kube::Transport& inner, base::milliseconds timeout) : inner_(inner), timeout_(timeout) {}

  base::Result<kube::Response> round_trip(const kube::Request& request) override {
    kube::Request timed = request;
    timed.timeout = timeout_;
    return inner_.round_trip(timed);
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request& request) override {
    return inner_.watch(request);
  }
  base::Result<std::unique_ptr<kube::WatchStream>> list(const kube::Request& request) override {
    return inner_.list(request);
  }

 private:
  kube::Transport& inner_;
  base::milliseconds timeout_;
};

/// Follows kubectl's order, in which ~/.kube/config precedes the pod's service account.
kube::ConfigFlags config_flags(const GlobalFlags& flags, const kube::Environment& environment) {
  kube::ConfigFlags chosen{flags.kubeconfig, flags.context};
  const std::string home = variable_of(environment, "HOME");
  if (!chosen.kubeconfig.empty() || !variable_of(environment, "KUBECONFIG").empty() || home.empty()) return chosen;
  std::error_code failed;
  const std::string usual = home + "/.kube/config";
  if (std::filesystem::exists(usual, failed)) chosen.kubeconfig = usual;
  return chosen;
}

template <typename T>
base::Result<T> decoded(base::Result<T> value, std::string_view what) {
  if (!value) return std::move(value).error().during(fmt::format("reading {}", what));
  return value;
}

}  // namespace

base::Result<StoredEvacuation> parse_evacuation(base::Result<std::string> raw) {
  if (!raw) return raw.error();
  auto parsed = controllers::evacuation::parse_stored_evacuation(*raw);
  if (parsed) parsed->raw = *std::move(raw);
  return parsed;
}

std::vector<api::Evacuation> values_of(const std::vector<StoredEvacuation>& stored) {
  std::vector<api::Evacuation> values;
  for (const StoredEvacuation& each : stored) values.push_back(each.evacuation);
  return values;
}

kube::ListOptions listing(std::string ns, std::string label_selector, std::string field_selector) {
  kube::ListOptions options;
  options.ns = std::move(ns);
  options.label_selector = std::move(label_selector);
  options.field_selector = std::move(field_selector);
  return options;
}

base::Result<base::Duration> parse_timeout(std::string_view flag, const std::string& text) {
  std::int64_t seconds = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (failed == std::errc() && end == text.data() + text.size() && seconds >= 0 && seconds < 1'000'000'000) {
    return base::Duration(base::seconds(seconds));
  }
  const auto duration = base::parse_duration(text);
  if (!duration || *duration < base::Duration::zero()) {
    return base::invalid(fmt::format("{}: \"{}\" is not a duration such as 30s, 5m or 0 (none)", flag, text));
  }
  return *duration;
}

Session::Session(GlobalFlags flags, Io& io, const kube::Config& config, std::unique_ptr<kube::HttpTransport> transport,
                 base::milliseconds timeout)
    : flags_(std::move(flags)),
      io_(io),
      server_(config.server),
      source_(config.source),
      ns_(flags_.ns.empty() ? config.default_namespace : flags_.ns),
      http_(std::move(transport)),
      transport_(std::make_unique<TimedTransport>(*http_, timeout)),
      client_(std::make_unique<kube::Client>(*transport_, nullptr)) {}

base::Result<std::unique_ptr<Session>> Session::connect(const GlobalFlags& flags, Io& io) {
  const auto timeout = parse_timeout("--request-timeout", flags.request_timeout);
  if (!timeout) return timeout.error();
  const auto config = kube::load_config(config_flags(flags, io.environment), io.environment, io.clock);
  if (!config) return config.error();
  kube::HttpTransportOptions options;
  options.user_agent = "kubectl-evacuator/" EVACUATOR_VERSION " (linux)";
  auto transport = kube::HttpTransport::create(*config, options);
  if (!transport) return transport.error().during(config->source);
  const auto chosen =
      *timeout == base::Duration::zero() ? kDefaultTimeout : std::chrono::ceil<base::milliseconds>(*timeout);
  return std::unique_ptr<Session>(new Session(flags, io, *config, *std::move(transport), chosen));
}

base::Error Session::explained(const base::Error& error, const Attempt& attempt) const {
  base::Error told = error;
  told.message = advise(error, attempt, server_, source_);
  return told;
}

base::Result<std::string> Session::call(kube::Request request, const Attempt& attempt) {
  auto sent = client_->send(request);
  if (!sent) return explained(sent.error(), attempt);
  auto answer = kube::classify(*std::move(sent));
  if (!answer) return explained(answer.error(), attempt);
  return std::move(answer->body);
}

base::Result<std::string> Session::get(const kube::ResourceType& type, const api::ObjectKey& key) {
  return call(kube::get_request(type, key), {"get", type, key});
}

base::Result<std::vector<std::string>> Session::list(const kube::ResourceType& type, const kube::ListOptions& options) {
  const Attempt attempt{"list", type, {options.ns, ""}};
  std::vector<std::string> items;
  kube::ListOptions page = options;
  for (;;) {
    const auto body = call(kube::list_request(type, page), attempt);
    if (!body) return body.error();
    const auto meta = api::for_each_item(*body, [&](std::string_view item) -> base::Status {
      items.emplace_back(item);
      return base::Done{};
    });
    if (!meta) return explained(meta.error(), attempt);
    if (meta->continue_token.empty() || meta->continue_token == page.continue_token) return items;
    page.continue_token = meta->continue_token;
  }
}

base::Result<std::string> Session::create(const kube::ResourceType& type, const std::string& ns, const api::Json& body,
                                          bool dry_run) {
  kube::Request request = kube::create_request(type, ns, body);
  if (dry_run) kube::append_query(request.query, "dryRun", "All");
  return call(std::move(request), {"create", type, {ns, ""}});
}

base::Result<std::string> Session::patch(const kube::ResourceType& type, const api::ObjectKey& key,
                                         const api::Json& merge) {
  return call(kube::patch_request(type, key, kube::PatchType::kMerge, merge), {"patch", type, key});
}

base::Result<api::Pod> Session::pod(const api::ObjectKey& key) {
  const auto text = get(kube::kPods, key);
  if (!text) return text.error();
  return decoded(api::decode_pod(*text), "pod " + key.to_string());
}

base::Result<std::vector<api::Pod>> Session::pods(const kube::ListOptions& options) {
  const auto items = list(kube::kPods, options);
  if (!items) return items.error();
  std::vector<api::Pod> found;
  for (const std::string& item : *items) {
    auto pod = api::decode_pod(item);
    if (!pod) return pod.error().during("reading a pod");
    found.push_back(*std::move(pod));
  }
  return found;
}

base::Result<api::Node> Session::node(const std::string& name) {
  const auto text = get(kube::kNodes, {"", name});
  if (text) return decoded(api::decode_node(*text), "node " + name);
  base::Error error = text.error();
  if (!base::is_not_found(error)) return error;
  std::vector<std::string> names;
  if (const auto nodes = readable(kube::kNodes, api::decode_meta)) {
    for (const api::ObjectMeta& meta : *nodes) names.push_back(meta.name);
  }
  if (const std::string others = other_names(name, std::move(names)); !others.empty()) error.message += "\n" + others;
  return error;
}

base::Result<api::DeschedulerPolicy> Session::policy(const std::string& name) {
  const auto text = get(kube::kPolicies, {"", name});
  if (!text) return text.error();
  return decoded(api::decode_descheduler_policy(std::string_view(*text)), "policy " + name);
}

base::Result<StoredEvacuation> Session::evacuation(const api::ObjectKey& key) {
  return parse_evacuation(get(kube::kEvacuations, key));
}

base::Result<std::vector<StoredEvacuation>> Session::evacuations(const kube::ListOptions& options) {
  const auto items = list(kube::kEvacuations, options);
  if (!items) return items.error();
  std::vector<StoredEvacuation> found;
  for (const std::string& item : *items) {
    auto stored = parse_evacuation(item);
    if (!stored) return stored.error().during("reading an Evacuation");
    found.push_back(*std::move(stored));
  }
  return found;
}

std::string Session::requester() {
  kube::Request request;
  request.method = "POST";
  request.path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";  // Kubernetes 1.28 and later
  request.content_type = "application/json";
  request.body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})";
  const auto body = client_->call(request);
  if (!body) return kUnknownRequester;
  const auto review = api::parse_json(*body);
  const api::Json::json_pointer username("/status/userInfo/username");
  if (!review || !review->contains(username) || !review->at(username).is_string()) return kUnknownRequester;
  return review->at(username).get<std::string>().substr(0, 253);
}

std::string Session::operator_warning() {
  const api::ObjectKey key{flags_.operator_namespace, kube::LeaderOptions().name};
  const auto text = client_->get(kube::kLeases, key);
  const base::Result<kube::LeaseRecord> lease =
      text ? kube::decode_lease(*text) : base::Result<kube::LeaseRecord>(text.error());
  return plugin::operator_warning(lease, key, now());
}

void Session::print_raw(const std::vector<StoredEvacuation>& stored) {
  if (!is_human_readable()) print_objects(io_, flags_.output, raw_objects(stored));
}

int Session::show(const std::string& text, const api::Json& json) {
  if (is_human_readable()) {
    io_.out(text);
  } else {
    print_value(io_, flags_.output, json);
  }
  return kDone;
}

void Session::warn_about_operator() {
  if (const std::string warning = operator_warning(); !warning.empty()) io_.err("Warning: " + warning + "\n");
}

int fail(Io& io, const base::Error& error) {
  const bool says_where = error.message.starts_with("Error from server") || error.message.starts_with("Unable to ");
  io.err((says_where ? "" : "error: ") + error.message + "\n");
  return kExitFailed;
}

int with_session(const GlobalFlags& flags, Io& io, const std::function<int(Session&)>& command) {
  const auto session = Session::connect(flags, io);
  return session ? command(**session) : fail(io, session.error());
}

std::unique_ptr<usage::Source> usage_source_of(Session& session, const api::UsageSource& source) {
  return usage::make_source(source, {.api = &session.client(),
                                     .clock = &session.io().clock,
                                     .operator_namespace = session.flags().operator_namespace});
}

std::string resource_name(const api::ObjectKey& evacuation) {
  return fmt::format("evacuation.{}/{}", kube::kEvacuations.group, evacuation.name);
}

std::vector<api::Json> raw_objects(const std::vector<StoredEvacuation>& stored) {
  std::vector<api::Json> objects;
  for (const StoredEvacuation& each : stored) {
    if (auto parsed = api::parse_json(each.raw)) objects.push_back(*std::move(parsed));
  }
  return objects;
}

void print_value(Io& io, const std::string& format, const api::Json& value) {
  io.out(format == "yaml" ? api::to_yaml(value)
                          : value.dump(2, ' ', false, api::Json::error_handler_t::replace) + "\n");
}

void print_objects(Io& io, const std::string& format, const std::vector<api::Json>& objects) {
  if (format == "name") {
    for (const api::Json& each : objects) io.out(resource_name({"", each["metadata"].value("name", "")}) + "\n");
    return;
  }
  api::Json items = api::Json::array();
  for (api::Json each : objects) {
    each["apiVersion"] = kube::kEvacuations.api_version();  // items of a list response have no apiVersion and kind
    each["kind"] = kube::kEvacuations.kind;
    items.push_back(std::move(each));
  }
  print_value(io, format,
              {{"apiVersion", "v1"}, {"kind", "List"}, {"metadata", api::Json::object()}, {"items", items}});
}

}  // namespace cmd::plugin
