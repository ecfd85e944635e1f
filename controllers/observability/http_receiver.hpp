#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/refusal.hpp"
#include "kube/transport.hpp"

namespace kube {
class HttpTransport;
}

namespace controllers {

/// Options of an HTTP receiver of JSON outside of the cluster's API.
struct ReceiverOptions {
  std::string url{};          ///< URL with https; a secret that errors and logs must not contain
  std::string ca_file{};      ///< Empty means the system's roots
  std::string name{};         ///< Name used in errors
  bool may_be_plain = false;  ///< Allow http to any host, not only to loopback
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// One receiver and its persistent connection. Use from one thread.
class HttpReceiver {
 public:
  /// Opens no connection yet. `clock` must outlive the result. Returns kInvalid if the URL or a file cannot be used.
  static base::Result<std::unique_ptr<HttpReceiver>> create(const ReceiverOptions& options, const base::Clock& clock);
  ~HttpReceiver();

  /// Returns the response, whatever its status. An error means that no response came, without details.
  base::Result<kube::Response> post(const std::string& body, base::Duration timeout);

 private:
  HttpReceiver(std::unique_ptr<kube::HttpTransport> transport, std::string path, std::string query);

  const std::unique_ptr<kube::HttpTransport> transport_;
  const std::string path_;
  const std::string query_;
};

/// Upper bound of the Retry-After that a receiver may request.
inline constexpr base::minutes kMaxReceiverPause{5};

/// Returns true for a response 2xx.
bool is_accepted(const base::Result<kube::Response>& answer);
/// Returns true if no response came, for a reason that may pass.
bool is_lost(const base::Result<kube::Response>& answer);
/// Describes a failure for the log, without the receiver's response. `settings`: see kube::explain_refusal().
std::string outcome_text(const base::Result<kube::Response>& answer, const kube::ServerSettings& settings);
/// Returns the pause after the `failures`-th failure: the receiver's Retry-After within bounds, or the backoff.
base::Duration pause_after(const base::Result<kube::Response>& answer, const base::Backoff& backoff, int failures);

}  // namespace controllers
