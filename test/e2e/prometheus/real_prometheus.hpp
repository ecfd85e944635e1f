#pragma once

/// A Prometheus of Debian's package, and an exporter that it scrapes.

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

/// Serves the current text on /metrics.
class Exporter {
 public:
  explicit Exporter(std::string text);
  /// Calls `measure` at each scrape, on a separate thread. Answers 500 if it throws Failure.
  explicit Exporter(std::function<std::string()> measure);
  std::uint16_t port() const { return server_.port(); }
  /// Sets the text for further scrapes. An empty text answers 500.
  void say(std::string text);

 private:
  http_server::Response answer() const;
  http_server::Response measured() const;

  const std::function<std::string()> measure_;
  mutable std::mutex mutex_;
  std::string text_;
  http_server::Server server_;
};

/// A folder that is removed at the end of the test.
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
  std::optional<std::uint16_t> scrape{};  ///< port of an exporter that is scraped every second
  std::string web_config{};               ///< text of --web.config.file
  std::string prefix = "/";               ///< --web.route-prefix
  std::string open_metrics{};             ///< history in OpenMetrics format
};

/// Runs until its destruction. The constructor throws if the server cannot be started.
class RealPrometheus {
 public:
  RealPrometheus(const Folder& folder, const PrometheusSettings& settings);
  /// Returns for example "127.0.0.1:40123".
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::uint16_t port() const { return port_; }
  /// Returns the server's output, for messages.
  std::string log() const { return read_file(process_->log()); }

 private:
  std::uint16_t port_;
  std::optional<Process> process_;
};

}  // namespace e2e
