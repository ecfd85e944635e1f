#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "cmd/session/advice.hpp"
#include "cmd/session/io.hpp"
#include "controllers/evacuation/io.hpp"
#include "kube/client.hpp"
#include "kube/config/config.hpp"
#include "kube/http/transport.hpp"
#include "usage/source.hpp"

namespace cmd::plugin {

/// Flags of every command, named like those of kubectl plugins.
struct GlobalFlags {
  std::string kubeconfig{};
  std::string context{};
  std::string ns{};
  bool all_namespaces = false;
  std::string request_timeout = "0";  ///< "0" selects the default of 34 s per call
  std::string operator_namespace = "evacuator-system";
  std::string output{};  ///< json, yaml, name; human-readable if empty
};

using controllers::evacuation::StoredEvacuation;
/// Parses an Evacuation, unless `raw` is an error, and keeps the raw text, which -o prints.
base::Result<StoredEvacuation> parse_evacuation(base::Result<std::string> raw);
std::vector<api::Evacuation> values_of(const std::vector<StoredEvacuation>& stored);

/// A connection to the API server. Every Error it returns is complete for the user: message in kubectl's format, the
/// failed call, and advice. Not thread-safe.
class Session {
 public:
  static base::Result<std::unique_ptr<Session>> connect(const GlobalFlags& flags, Io& io);

  Io& io() { return io_; }
  const GlobalFlags& flags() const { return flags_; }
  kube::Client& client() { return *client_; }
  base::TimePoint now() const { return io_.clock.now(); }
  /// Returns the namespace of -n, else that of the context.
  const std::string& ns() const { return ns_; }
  /// Returns the namespace, or an empty string (all namespaces) with -A.
  std::string scope() const { return flags_.all_namespaces ? std::string() : ns_; }
  bool is_human_readable() const { return flags_.output.empty(); }

  base::Result<std::string> get(const kube::ResourceType& type, const api::ObjectKey& key);
  /// Returns the raw text of each item.
  base::Result<std::vector<std::string>> list(const kube::ResourceType& type, const kube::ListOptions& options);
  base::Result<std::string> create(const kube::ResourceType& type, const std::string& ns, const api::Json& body,
                                   bool dry_run = false);
  base::Result<std::string> patch(const kube::ResourceType& type, const api::ObjectKey& key, const api::Json& merge);

  base::Result<api::Pod> pod(const api::ObjectKey& key);
  base::Result<std::vector<api::Pod>> pods(const kube::ListOptions& options);
  /// Reads a node. The error for a missing node lists the existing names.
  base::Result<api::Node> node(const std::string& name);
  base::Result<api::DeschedulerPolicy> policy(const std::string& name);
  base::Result<StoredEvacuation> evacuation(const api::ObjectKey& key);
  base::Result<std::vector<StoredEvacuation>> evacuations(const kube::ListOptions& options);

  /// Lists the objects of a kind and leaves out those that cannot be decoded.
  template <typename T>
  base::Result<std::vector<T>> readable(const kube::ResourceType& type, base::Result<T> (*decode)(std::string_view),
                                        const kube::ListOptions& options = {}) {
    const auto items = list(type, options);
    if (!items) return items.error();
    std::vector<T> objects;
    for (const std::string& item : *items) {
      if (auto object = decode(item)) objects.push_back(*std::move(object));
    }
    return objects;
  }

  /// Prints Evacuations as the server returned them, in the format of -o. No-op without -o.
  void print_raw(const std::vector<StoredEvacuation>& stored);
  /// Prints the text or, with -o, the JSON. Returns kDone.
  int show(const std::string& text, const api::Json& json);
  /// Warns on standard error if the operator does not run.
  void warn_about_operator();

  /// Returns the user name as known to the server, or the program name if the server does not return it.
  std::string requester();
  /// Returns a warning if the operator does not run, empty if it runs or its state is unknown.
  std::string operator_warning();

  /// Returns the user-facing error of a failed call.
  base::Error explained(const base::Error& error, const Attempt& attempt) const;

 private:
  Session(GlobalFlags flags, Io& io, const kube::Config& config, std::unique_ptr<kube::HttpTransport> transport,
          base::milliseconds timeout);
  base::Result<std::string> call(kube::Request request, const Attempt& attempt);

  const GlobalFlags flags_;
  Io& io_;
  const std::string server_;
  const std::string source_;
  const std::string ns_;
  const std::unique_ptr<kube::HttpTransport> http_;
  const std::unique_ptr<kube::Transport> transport_;
  const std::unique_ptr<kube::Client> client_;
};

/// Builds list options. Empty strings mean no restriction.
kube::ListOptions listing(std::string ns, std::string label_selector = {}, std::string field_selector = {});

/// Parses "30s", "2m" or "0" (no timeout). A bare number is in seconds, as in kubectl.
base::Result<base::Duration> parse_timeout(std::string_view flag, const std::string& text);

/// Prints the error, prefixed with "error: " unless the message already names its origin. Returns kExitFailed.
int fail(Io& io, const base::Error& error);

/// Connects and runs the command. Returns its exit code, or prints why there is no connection.
int with_session(const GlobalFlags& flags, Io& io, const std::function<int(Session&)>& command);

/// Returns the source as queried by this process, with the user's connection and Secrets of the operator's namespace.
/// An address reachable only from pods fails.
std::unique_ptr<usage::Source> usage_source_of(Session& session, const api::UsageSource& source);

/// Prints objects as a List in JSON or YAML, or as lines "evacuation.evacuator.dev/NAME".
void print_objects(Io& io, const std::string& format, const std::vector<api::Json>& objects);
std::vector<api::Json> raw_objects(const std::vector<StoredEvacuation>& stored);
void print_value(Io& io, const std::string& format, const api::Json& value);

std::string resource_name(const api::ObjectKey& evacuation);

}  // namespace cmd::plugin
