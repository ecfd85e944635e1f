#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "api/policy/gates.hpp"
#include "base/result.hpp"
#include "kube/transport.hpp"

namespace usage {
struct Dependencies;
}

namespace controllers {

struct GateAnswer;

/// Sends requests to a gate's server. Blocks up to the endpoint's timeout. Not thread-safe.
class GateClient {
 public:
  virtual ~GateClient() = default;
  /// Returns the body of a 2xx answer. `request.path` is appended to the endpoint's URL. Error messages contain neither
  /// secrets nor parts of the answer.
  virtual base::Result<std::string> ask(kube::Request request) = 0;
  /// Removes secrets that were sent to the server from a text of its answer.
  virtual std::string redacted(std::string text) const { return text; }
};

/// An answer longer than `most_bytes` is an error.
using GateClientFactory =
    std::function<std::unique_ptr<GateClient>(const api::UsageEndpoint& endpoint, std::size_t most_bytes)>;

/// Clients over HTTP(S) with the endpoint's Secrets. Everything in `dependencies` must outlive the clients.
GateClientFactory http_gate_clients(usage::Dependencies dependencies);

/// Asks one gate of `policy`. `endpoint` is that of the gate or of its source.
base::Result<GateAnswer> ask_gate(GateClient& client, const std::string& policy, const api::PolicyGate& gate,
                                  const api::UsageEndpoint& endpoint);

/// Maximum size of an answer.
std::size_t max_answer_bytes(api::GateType type);

}  // namespace controllers
