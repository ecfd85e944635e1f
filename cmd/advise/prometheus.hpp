#pragma once

/// Prometheus access for command-line tools.

#include <memory>

#include "base/result.hpp"
#include "cmd/advise/commands.hpp"
#include "kube/client.hpp"
#include "usage/sources/daily.hpp"

namespace cmd::advise {

/// Owns a DailyHistory and the HTTP client it uses. Must outlive references to the history.
class PrometheusSession {
 public:
  /// Reads the token and the CA certificates; sends no query. Error messages name the flag.
  static base::Result<std::unique_ptr<PrometheusSession>> open(const PrometheusOptions& options,
                                                               usage::DailySettings settings, plugin::Io& io,
                                                               usage::Connect connect = usage::connect_http);
  usage::DailyHistory& history() { return *history_; }
  const usage::DailySettings& settings() const { return settings_; }

 private:
  /// Transport that must not be reached: the endpoint references no Secret, so the client never reads one from an API
  /// server.
  class UnreachableTransport final : public kube::Transport {
    base::Result<kube::Response> round_trip(const kube::Request& request) override;
    base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request& request) override;
  };

  UnreachableTransport no_server_;
  kube::Client api_{no_server_, nullptr};
  usage::DailySettings settings_;
  std::unique_ptr<usage::DailyHistory> history_;
};

/// Parses a flag's duration, such as "5m". An error, if it is malformed or outside of the bounds, names the flag.
base::Result<base::Duration> parse_duration_flag(const std::string& flag, const std::string& text, base::Duration least,
                                                 base::Duration most);

}  // namespace cmd::advise
