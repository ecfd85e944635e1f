#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/policy/usage_source.hpp"
#include "usage/samples.hpp"
#include "usage/sources/dependencies.hpp"
#include "usage/sources/secrets.hpp"

namespace usage {

/// Client for an HTTP(S) server that a policy configures. Reads the endpoint's Secrets before the first request, every
/// five minutes, and after a 401, a 403 or a failed connection. Reuses the connection while they stay the same. Keeps
/// the last Secrets while the API server does not answer. Use from one thread at a time.
class EndpointClient {
 public:
  EndpointClient(api::UsageEndpoint endpoint, Dependencies dependencies);

  /// Sends `request` with the endpoint's timeout. Its path is appended to the URL's. Returns any complete answer of at
  /// most kMaxAnswerBytes. Does not retry and does not follow redirects. Messages contain no secrets.
  base::Result<kube::Response> send(kube::Request request);

  /// Removes the endpoint's secrets from texts of the server, which may echo what it was sent. Apply before such a text
  /// is shown.
  std::string redacted(std::string text) const { return usage::redacted(std::move(text), secrets_); }
  base::Error redacted(base::Error error) const;
  base::Result<Samples> redacted(base::Result<Samples> samples) const;

 private:
  base::Status connect();
  base::Status open(EndpointSecrets secrets);

  const api::UsageEndpoint endpoint_;
  const Dependencies dependencies_;
  std::optional<base::TimePoint> read_at_;
  EndpointSecrets secrets_;
  std::unique_ptr<kube::Transport> transport_;
};

/// Explains an answer outside 2xx and names the endpoint's field to check. Never quotes the body, because a policy's
/// author chose the server. Returns nullopt for 2xx.
std::optional<base::Error> refusal_of(const kube::Response& response);

}  // namespace usage
