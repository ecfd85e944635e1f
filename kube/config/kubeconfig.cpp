#include "kube/config/kubeconfig.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "api/json/yaml.hpp"
#include "base/base64.hpp"
#include "kube/config/files.hpp"

namespace kube {
namespace {

/// Reads members of an object. Keeps the first wrong type as an error with its path; later reads return nothing.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  std::string text(const api::Json& object, const std::string& path, const char* name) {
    const api::Json* value = find(object, name);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    return fail(path, name, "must be a string (put it in quotes)"), std::string();
  }
  bool flag(const api::Json& object, const std::string& path, const char* name) {
    const api::Json* value = find(object, name);
    if (value == nullptr) return false;
    if (value->is_boolean()) return value->get<bool>();
    return fail(path, name, "must be true or false"), false;
  }
  std::string data(const api::Json& object, const std::string& path, const char* name) {
    const std::string encoded = text(object, path, name);
    auto decoded = base::decode_base64(encoded);
    if (decoded) return *std::move(decoded);
    return fail(path, name, "is not valid Base64"), std::string();
  }
  std::string file(const api::Json& object, const std::string& path, const char* name) {
    return relative_to(file_, text(object, path, name));
  }
  /// Returns the member if it is an object, else an empty object.
  const api::Json& object(const api::Json& parent, const std::string& path, const char* name) {
    static const api::Json kNothing = api::Json::object();
    const api::Json* value = find(parent, name);
    if (value == nullptr) return kNothing;
    if (!value->is_object()) fail(path, name, "must be a mapping");
    return value->is_object() ? *value : kNothing;
  }
  const api::Json& array(const api::Json& parent, const std::string& path, const char* name) {
    static const api::Json kNothing = api::Json::array();
    const api::Json* value = find(parent, name);
    if (value == nullptr) return kNothing;
    if (!value->is_array()) fail(path, name, "must be a list");
    return value->is_array() ? *value : kNothing;
  }
  void fail(const std::string& path, std::string_view name, std::string_view why) {
    if (!error_) error_ = base::invalid(fmt::format("{}: {}{}{}: {}", file_, path, path.empty() ? "" : ".", name, why));
  }
  const std::string& file_name() const { return file_; }
  const std::optional<base::Error>& error() const { return error_; }

 private:
  /// Treats null as absent.
  static const api::Json* find(const api::Json& object, const char* name) {
    if (!object.is_object()) return nullptr;
    const auto at = object.find(name);
    return at == object.end() || at->is_null() ? nullptr : &*at;
  }
  const std::string& file_;
  std::optional<base::Error> error_;
};

KubeconfigCluster read_cluster(Reader& reader, const api::Json& entry, const std::string& path) {
  const api::Json& body = reader.object(entry, path, "cluster");
  const std::string at = path + ".cluster";
  KubeconfigCluster cluster;
  cluster.name = reader.text(entry, path, "name");
  cluster.server = reader.text(body, at, "server");
  cluster.tls_server_name = reader.text(body, at, "tls-server-name");
  cluster.insecure_skip_tls_verify = reader.flag(body, at, "insecure-skip-tls-verify");
  cluster.ca_file = reader.file(body, at, "certificate-authority");
  cluster.ca_pem = reader.data(body, at, "certificate-authority-data");
  cluster.proxy_url = reader.text(body, at, "proxy-url");
  return cluster;
}

ExecPlugin read_exec(Reader& reader, const api::Json& exec, const std::string& path) {
  ExecPlugin plugin;
  plugin.api_version = reader.text(exec, path, "apiVersion");
  plugin.command = reader.text(exec, path, "command");
  plugin.install_hint = reader.text(exec, path, "installHint");
  // A command without a slash is looked up in PATH. With a slash, it is relative to the kubeconfig's folder.
  if (plugin.command.find('/') != std::string::npos) plugin.command = relative_to(reader.file_name(), plugin.command);
  for (const api::Json& each : reader.array(exec, path, "args")) {
    if (!each.is_string()) reader.fail(path, "args", "must be strings");
    plugin.args.push_back(each.is_string() ? each.get<std::string>() : std::string());
  }
  for (const api::Json& each : reader.array(exec, path, "env"))
    plugin.env.emplace_back(reader.text(each, path + ".env[]", "name"), reader.text(each, path + ".env[]", "value"));
  if (plugin.command.empty()) reader.fail(path, "command", "is missing");
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1")
    reader.fail(path, "apiVersion", "must be client.authentication.k8s.io/v1 or …/v1beta1; update the kubeconfig");
  if (reader.text(exec, path, "interactiveMode") == "Always")
    reader.fail(path, "interactiveMode",
                "is Always, but there is no terminal here; use a plugin that works unattended");
  if (reader.flag(exec, path, "provideClusterInfo")) plugin.cluster_info = "{}";  // set by choose_context()
  return plugin;
}

KubeconfigUser read_user(Reader& reader, const api::Json& entry, const std::string& path) {
  const api::Json& body = reader.object(entry, path, "user");
  const std::string at = path + ".user";
  KubeconfigUser user;
  user.name = reader.text(entry, path, "name");
  user.token = reader.text(body, at, "token");
  user.token_file = reader.file(body, at, "tokenFile");
  user.username = reader.text(body, at, "username");
  user.password = reader.text(body, at, "password");
  user.client_certificate_file = reader.file(body, at, "client-certificate");
  user.client_certificate_pem = reader.data(body, at, "client-certificate-data");
  user.client_key_file = reader.file(body, at, "client-key");
  user.client_key_pem = reader.data(body, at, "client-key-data");
  user.auth_provider = reader.text(reader.object(body, at, "auth-provider"), at + ".auth-provider", "name");
  if (body.contains("exec") && !body["exec"].is_null()) {
    user.exec = read_exec(reader, reader.object(body, at, "exec"), at + ".exec");
    user.exec->user = user.name;
  }
  return user;
}

KubeconfigContext read_context(Reader& reader, const api::Json& entry, const std::string& path) {
  const api::Json& body = reader.object(entry, path, "context");
  const std::string at = path + ".context";
  return {reader.text(entry, path, "name"), reader.text(body, at, "cluster"), reader.text(body, at, "user"),
          reader.text(body, at, "namespace")};
}

/// Returns spec.cluster of ExecCredential for the plugin.
std::string cluster_info_of(const KubeconfigCluster& cluster) {
  api::Json info = {{"server", cluster.server}};
  if (!cluster.tls_server_name.empty()) info["tls-server-name"] = cluster.tls_server_name;
  if (cluster.insecure_skip_tls_verify) info["insecure-skip-tls-verify"] = true;
  if (!cluster.ca_pem.empty()) info["certificate-authority-data"] = base::encode_base64(cluster.ca_pem);
  if (!cluster.proxy_url.empty()) info["proxy-url"] = cluster.proxy_url;
  return api::to_json_text(info);
}

template <typename T>
const T* named(const std::vector<T>& all, const std::string& name) {
  const auto at = std::ranges::find(all, name, &T::name);
  return at == all.end() ? nullptr : &*at;
}

template <typename T>
std::string names_of(const std::vector<T>& all) {
  std::vector<std::string> names;
  for (const T& each : all) names.push_back(each.name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

template <typename T>
void merge_named(std::vector<T>& into, std::vector<T> next) {
  for (T& each : next) {
    if (named(into, each.name) == nullptr) into.push_back(std::move(each));
  }
}

template <typename T, typename Read>
void read_all(Reader& reader, const api::Json& root, const char* list, std::vector<T>& into, Read read) {
  std::size_t index = 0;
  for (const api::Json& entry : reader.array(root, "", list)) {
    const std::string path = fmt::format("{}[{}]", list, index++);
    if (!entry.is_object()) reader.fail(path, "", "must be a mapping");
    into.push_back(read(reader, entry, path));
  }
}

}  // namespace

base::Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& file) {
  auto documents = api::parse_yaml(text);
  if (!documents) return std::move(documents).error().during(file + ": not valid YAML");
  Kubeconfig config;
  if (documents->empty() || documents->front().is_null()) return config;  // an empty file is an empty config
  const api::Json& root = documents->front();
  if (!root.is_object()) return base::invalid(file + ": is not a kubeconfig: the top level must be a mapping");
  Reader reader(file);
  const std::string kind = reader.text(root, "", "kind");
  if (!kind.empty() && kind != "Config") return base::invalid(file + ": is not a kubeconfig: kind must be Config");
  read_all(reader, root, "clusters", config.clusters, read_cluster);
  read_all(reader, root, "users", config.users, read_user);
  read_all(reader, root, "contexts", config.contexts, read_context);
  config.current_context = reader.text(root, "", "current-context");
  if (reader.error()) return *reader.error();
  return config;
}

void merge(Kubeconfig& into, Kubeconfig next) {
  merge_named(into.clusters, std::move(next.clusters));
  merge_named(into.users, std::move(next.users));
  merge_named(into.contexts, std::move(next.contexts));
  if (into.current_context.empty()) into.current_context = std::move(next.current_context);
}

base::Result<ChosenContext> choose_context(const Kubeconfig& config, const std::string& name) {
  std::string wanted = name.empty() ? config.current_context : name;
  if (wanted.empty() && config.contexts.size() == 1) wanted = config.contexts.front().name;
  if (wanted.empty())
    return base::invalid(
        fmt::format("no current-context; choose one with --context (there are: {})", names_of(config.contexts)));
  const KubeconfigContext* context = named(config.contexts, wanted);
  if (context == nullptr)
    return base::invalid(fmt::format("context \"{}\" does not exist; choose one with --context (there are: {})", wanted,
                                     names_of(config.contexts)));
  const KubeconfigCluster* cluster = named(config.clusters, context->cluster);
  if (cluster == nullptr)
    return base::invalid(fmt::format("context \"{}\" names the cluster \"{}\", which does not exist (there are: {})",
                                     wanted, context->cluster, names_of(config.clusters)));
  ChosenContext chosen{*context, *cluster, {}};
  if (context->user.empty()) return chosen;  // anonymous, as with kubectl proxy
  const KubeconfigUser* user = named(config.users, context->user);
  if (user == nullptr)
    return base::invalid(fmt::format("context \"{}\" names the user \"{}\", which does not exist (there are: {})",
                                     wanted, context->user, names_of(config.users)));
  chosen.user = *user;
  if (chosen.user.exec && !chosen.user.exec->cluster_info.empty())
    chosen.user.exec->cluster_info = cluster_info_of(*cluster);
  return chosen;
}

}  // namespace kube
