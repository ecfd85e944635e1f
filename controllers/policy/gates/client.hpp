#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "api/policy/gates.hpp"
#include "base/result.hpp"
#include "controllers/policy/gates/answers.hpp"
#include "kube/transport.hpp"
#include "usage/sources/dependencies.hpp"

namespace controllers {

/// Who carries a gate's question to its server. One thread at a time; blocks for as long as the endpoint's timeout.
class GateClient {
 public:
  virtual ~GateClient() = default;
  /// The body of a 2xx answer. `request.path` continues the URL's. Messages show no secret and nothing of the answer.
  virtual base::Result<std::string> ask(kube::Request request) = 0;
  /// What an answer says, without any secret that the server was sent and gives back.
  virtual std::string redacted(std::string text) const { return text; }
};

/// `most_bytes`: a longer answer is an error.
using GateClientFactory =
    std::function<std::unique_ptr<GateClient>(const api::UsageEndpoint& endpoint, std::size_t most_bytes)>;

/// Over HTTP(S), with the endpoint's Secrets. Everything in `dependencies` outlives the clients.
GateClientFactory http_gate_clients(usage::Dependencies dependencies);

/// Asks one gate of `policy`. `endpoint`: the gate's own, or its source's.
base::Result<GateAnswer> ask_gate(GateClient& client, const std::string& policy, const api::PolicyGate& gate,
                                  const api::UsageEndpoint& endpoint);

/// How long an answer may be.
std::size_t most_answer_bytes(api::GateType type);

}  // namespace controllers
