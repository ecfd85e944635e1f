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

/// What we show the server. Secret: never in a log, an error or a metric.
struct Presented {
  std::string authorization;           ///< value of the header Authorization; empty: none
  std::string client_certificate_pem;  ///< chain; empty: none
  std::string client_key_pem;
  friend bool operator==(const Presented&, const Presented&) = default;
};

/// Who we are, renewed as it expires. Thread-safe.
class Credentials {
 public:
  virtual ~Credentials() = default;

  /// Current credentials; may read a file or run a plugin (then other callers wait for the one run).
  virtual base::Result<Presented> present() = 0;

  /// The server answered 401: what is cached is worthless, the next present() looks again.
  virtual void refused() {}
};

/// Never changes.
std::shared_ptr<Credentials> static_credentials(Presented presented);

/// Where the parts come from when they are files. A file wins over nothing, embedded text over a file.
struct CredentialFiles {
  Presented embedded;
  std::string token_file;
  std::string client_certificate_file;
  std::string client_key_file;
  /// Where they are sent to. Set: present() fails with kUnauthorized unless the file kServersKey beside each of them
  /// lists it.
  std::optional<CredentialTarget> target{};
};
/// Reads the files again every 30 s and after refused(), so that rotated tokens and certificates are picked up. While a
/// file cannot be read the last good content stays in use; credentials that are no longer for `target` are dropped.
/// `clock` must outlive it.
std::shared_ptr<Credentials> file_credentials(CredentialFiles files, const base::Clock& clock);

/// An exec credential plugin (client.authentication.k8s.io), as a kubeconfig describes it.
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string install_hint;
  std::string user;          ///< its name in the kubeconfig, for messages
  std::string cluster_info;  ///< JSON of spec.cluster; empty unless provideClusterInfo
  base::milliseconds timeout{60'000};
  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};
/// Runs the plugin when there is nothing yet, 10 s before expiry and after refused(), but after a failure or a refusal
/// not again within 5 s. What was got before serves until it expires. `clock` must outlive it.
std::shared_ptr<Credentials> exec_credentials(ExecPlugin plugin, const base::Clock& clock);

/// What a plugin printed, checked. Pure; never quotes the text in its errors.
struct ExecAnswer {
  Presented presented;
  std::optional<base::TimePoint> expires;
};
base::Result<ExecAnswer> parse_exec_answer(std::string_view printed, std::string_view api_version);

/// "Bearer <token>", or an error when the token could not stand in a header (then it would split the request).
base::Result<std::string> bearer(std::string_view token);

}  // namespace kube
