#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "test/e2e/harness/api.hpp"
#include "test/e2e/harness/process.hpp"

namespace e2e {

/// `evacuator run` as a child process with the operator's own credentials.
class Operator {
 public:
  struct Settings {
    std::string identity = "operator-0";
    std::filesystem::path binary = EVACUATOR_BINARY;
    bool leader_election = false;
    std::chrono::seconds lease_duration{6};
    std::chrono::seconds renew_deadline{4};
    std::chrono::seconds retry_period{1};
    std::string limits =
        "{total: 10, perNode: 5, perTargetNode: 5, perNamespace: 10, perWorkload: 5}";  ///< limits.inFlight as YAML
    std::string services = "[]";                                                        ///< services as YAML
    std::string webhook = "{enabled: false}";                                           ///< webhook as YAML
  };

  /// Writes configuration and logs to `folder`.
  Operator(std::filesystem::path kubeconfig, std::filesystem::path folder, Settings settings);

  /// Returns immediately; see await_ready().
  void start();
  /// Runs `evacuator run --once` with these flags to its end.
  Finished run_once(const std::vector<std::string>& flags);
  /// Returns when /readyz answers 200. Throws Failure with the end of the log if the process ends or is not ready in
  /// time.
  void await_ready();
  void kill();
  /// Sends SIGKILL and starts a new process, which knows the state of the API only.
  void crash();
  /// Sets the program of the next start().
  void run_from(std::filesystem::path binary) { settings_.binary = std::move(binary); }
  /// Sends SIGTERM and returns the exit code. Throws Failure if the process does not end within `limit`.
  int terminate(std::chrono::seconds limit = std::chrono::seconds(40));
  bool running() { return process_ && process_->running(); }
  pid_t pid() const { return process_ ? process_->pid() : -1; }
  const std::string& identity() const { return settings_.identity; }
  /// Port of /metrics over plain HTTP.
  std::uint16_t metrics_port() const { return metrics_port_; }
  /// Returns the text of /metrics.
  std::string metrics() const;
  std::string log_tail() const;

 private:
  std::vector<std::string> command() const;

  std::filesystem::path kubeconfig_;
  std::filesystem::path folder_;
  Settings settings_;
  std::uint16_t port_ = 0;  ///< health port
  std::uint16_t metrics_port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace e2e
