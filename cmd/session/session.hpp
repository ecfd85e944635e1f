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

namespace cmd::plugin {

/// Flags that every command takes, as kubectl's plugins have them.
struct GlobalFlags {
  std::string kubeconfig;
  std::string context;
  std::string ns;
  bool all_namespaces = false;
  std::string request_timeout = "0";  ///< "0": the default of 34 s a call
  std::string operator_namespace = "evacuator-system";
  std::string output;  ///< empty: for people; json, yaml, name
};

using controllers::evacuation::StoredEvacuation;
/// With the text it was read as, which is what -o prints.
base::Result<StoredEvacuation> parse_evacuation(std::string raw);

/// A connection and what belongs to it. Every Error that it returns is complete for the user: kubectl's words, what was
/// tried, the way out. Used by one thread.
class Session {
 public:
  static base::Result<std::unique_ptr<Session>> connect(const GlobalFlags& flags, Io& io);

  Io& io() { return io_; }
  const GlobalFlags& flags() const { return flags_; }
  kube::Client& client() { return *client_; }
  base::TimePoint now() const { return io_.clock.now(); }
  /// The namespace of -n, else of the context.
  const std::string& ns() const { return ns_; }
  /// The same, or "" (all) with -A.
  std::string scope() const { return flags_.all_namespaces ? std::string() : ns_; }
  bool for_people() const { return flags_.output.empty(); }

  base::Result<std::string> get(const kube::ResourceType& type, const api::ObjectKey& key);
  /// The raw text of every item.
  base::Result<std::vector<std::string>> list(const kube::ResourceType& type, const kube::ListOptions& options);
  base::Result<std::string> create(const kube::ResourceType& type, const std::string& ns, const api::Json& body,
                                   bool dry_run = false);
  base::Result<std::string> patch(const kube::ResourceType& type, const api::ObjectKey& key, const api::Json& merge);

  base::Result<api::Pod> pod(const api::ObjectKey& key);
  base::Result<std::vector<api::Pod>> pods(const kube::ListOptions& options);
  /// A missing one is answered with the names that there are.
  base::Result<api::Node> node(const std::string& name);
  base::Result<api::DeschedulerPolicy> policy(const std::string& name);
  base::Result<std::vector<StoredEvacuation>> evacuations(const kube::ListOptions& options);

  /// Says who the server takes us for; without an answer the program's name.
  std::string requester();
  /// A warning about an operator that does not run; empty when it does or nobody may know.
  std::string operator_warning();

  /// The error of a failed call as the user reads it.
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

/// What to list; "" is no restriction.
kube::ListOptions listing(std::string ns, std::string label_selector = {}, std::string field_selector = {});

/// "30s", "2m", "0" (none); a bare number counts seconds, as kubectl takes it.
base::Result<base::Duration> parse_timeout(std::string_view flag, const std::string& text);

/// Prints "error: …" unless the message says where it comes from already. Returns kFailed.
int fail(Io& io, const base::Error& error);

/// Objects as a List in JSON or YAML, or as "evacuation.evacuator.dev/NAME" lines.
void print_objects(Io& io, const std::string& format, const std::vector<api::Json>& objects);
/// One value that is no list, as JSON or YAML.
void print_value(Io& io, const std::string& format, const api::Json& value);

/// "evacuation.evacuator.dev/NAME".
std::string resource_name(const api::ObjectKey& evacuation);

}  // namespace cmd::plugin
