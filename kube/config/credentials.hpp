#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/config/credential_scope.hpp"

namespace kube {

/// Credentials as sent to the server. Secret: must not appear in logs, errors or metrics.
struct Presented {
  std::string authorization;           ///< value of the header Authorization, empty for none
  std::string client_certificate_pem;  ///< chain, empty for none
  std::string client_key_pem;
  friend bool operator==(const Presented&, const Presented&) = default;
};

/// Source of credentials, renewed before they expire. Thread-safe.
class Credentials {
 public:
  virtual ~Credentials() = default;

  /// Returns the current credentials. May read a file or run a plugin; concurrent callers wait for the same run.
  virtual base::Result<Presented> present() = 0;

  /// Call after the server answered 401. Discards the cache, so that the next present() renews the credentials.
  virtual void refused() {}
};

std::shared_ptr<Credentials> static_credentials(Presented presented);

/// Sources of file-based credentials. Embedded text takes precedence over a file.
struct CredentialFiles {
  Presented embedded;
  std::string token_file;
  std::string client_certificate_file;
  std::string client_key_file;
  /// If set, present() fails with kUnauthorized unless the file kServersKey in each credential's folder lists this
  /// server.
  std::optional<CredentialTarget> target{};
};
/// Reads the files again every 30 s and after refused(), to follow rotated tokens and certificates. While a file is
/// unreadable, the last good content stays in use. Credentials that are no longer permitted for `target` are dropped.
/// `clock` must outlive the result.
std::shared_ptr<Credentials> file_credentials(CredentialFiles files, const base::Clock& clock);

/// Exec credential plugin (client.authentication.k8s.io), as configured in a kubeconfig.
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string install_hint;
  std::string user;          ///< user's name in the kubeconfig, for messages
  std::string cluster_info;  ///< JSON of spec.cluster, empty unless provideClusterInfo
  base::milliseconds timeout{60'000};
  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};
/// Runs the plugin on the first use, 10 s before expiry and after refused(). After a failure or refusal, waits at least
/// 5 s before the next run. Previous credentials stay in use until they expire. `clock` must outlive the result.
std::shared_ptr<Credentials> exec_credentials(ExecPlugin plugin, const base::Clock& clock);

/// Validated output of a plugin. parse_exec_answer() is pure and never quotes the text in errors.
struct ExecAnswer {
  Presented presented;
  std::optional<base::TimePoint> expires;
};
base::Result<ExecAnswer> parse_exec_answer(std::string_view printed, std::string_view api_version);

/// Returns "Bearer <token>". Returns an error if the token contains characters that are invalid in a header, because
/// they could split the request.
base::Result<std::string> bearer(std::string_view token);

}  // namespace kube
