#pragma once

/// The Prometheus of the command line.

#include <memory>

#include "base/result.hpp"
#include "cmd/advise/commands.hpp"
#include "kube/client.hpp"
#include "usage/sources/daily.hpp"

namespace cmd::advise {

/// Who asks it. Lives as long as the history it gives.
class PrometheusSession {
 public:
  /// Reads the token and the roots; asks nothing yet. Errors name the flag.
  static base::Result<std::unique_ptr<PrometheusSession>> open(const PrometheusOptions& options,
                                                               usage::DailySettings settings, plugin::Io& io,
                                                               usage::Connect connect = usage::connect_http);
  usage::DailyHistory& history() { return *history_; }
  const usage::DailySettings& settings() const { return settings_; }

 private:
  /// The endpoint names no Secret, so nobody is asked for one.
  class NoServer final : public kube::Transport {
    base::Result<kube::Response> round_trip(const kube::Request& request) override;
    base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request& request) override;
  };

  NoServer no_server_;
  kube::Client api_{no_server_, nullptr};
  usage::DailySettings settings_;
  std::unique_ptr<usage::DailyHistory> history_;
};

/// "5m" of a flag within bounds; the error names it.
base::Result<base::Duration> duration_of(const std::string& flag, const std::string& text, base::Duration least,
                                         base::Duration most);

}  // namespace cmd::advise
