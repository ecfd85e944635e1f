#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/policy/usage_source.hpp"
#include "usage/samples.hpp"
#include "usage/sources/dependencies.hpp"
#include "usage/sources/secrets.hpp"

namespace usage {

/// An HTTP(S) server of a policy's. Its Secrets are read before the first request, then every five minutes, and again
/// after a 401, a 403 or a connection that failed; a connection is kept for as long as they stay the same. While the
/// API server does not answer, what was read before serves. One thread at a time.
class EndpointClient {
 public:
  EndpointClient(api::UsageEndpoint endpoint, Dependencies dependencies);

  /// Sends `request`, whose path continues the URL's; its timeout is the endpoint's. Any complete answer of at most
  /// kMaxAnswerBytes. Never retries, follows no redirect. Messages show no secret.
  base::Result<kube::Response> send(kube::Request request);

  /// What a server says goes through this before anybody sees it: it may give back what it was sent.
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

/// What an answer outside 2xx means and which field of the endpoint to look at, in own words. Nothing of its body is
/// quoted, because a policy's author chose the server. nullopt: 2xx.
std::optional<base::Error> refusal_of(const kube::Response& response);

}  // namespace usage
