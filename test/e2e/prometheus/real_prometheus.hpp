#pragma once

/// A Prometheus of Debian's package, and an exporter of ours that it scrapes.

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http_server/server.hpp"
#include "test/e2e/harness/process.hpp"

namespace e2e {

/// Serves /metrics: what `text` says at the moment.
class Exporter {
 public:
  explicit Exporter(std::string text);
  /// Measures at each scrape, on a thread of its own; a Failure answers 500.
  explicit Exporter(std::function<std::string()> measure);
  std::uint16_t port() const { return server_.port(); }
  /// From the next scrape on; "" answers 500.
  void say(std::string text);

 private:
  http_server::Response answer() const;
  http_server::Response measured() const;

  const std::function<std::string()> measure_;
  mutable std::mutex mutex_;
  std::string text_;
  http_server::Server server_;
};

/// A folder that goes with the test.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

struct PrometheusSettings {
  std::optional<std::uint16_t> scrape{};  ///< port of an exporter, each second
  std::string web_config{};               ///< text of --web.config.file
  std::string prefix = "/";               ///< --web.route-prefix
  std::string open_metrics{};             ///< blocks of the past
};

/// Runs until it is destroyed. Throws when it cannot be started.
class RealPrometheus {
 public:
  RealPrometheus(const Folder& folder, const PrometheusSettings& settings);
  /// "127.0.0.1:40123"
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::uint16_t port() const { return port_; }
  /// What it wrote, for messages.
  std::string log() const { return read_file(process_->log()); }

 private:
  std::uint16_t port_;
  std::optional<Process> process_;
};

}  // namespace e2e
