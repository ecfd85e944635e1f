#pragma once

#include <string>

#include "base/metrics.hpp"

namespace controllers {

/// Process metrics from the kernel, under the standard names of Prometheus clients. Use from one thread at a time.
class ProcessMetrics {
 public:
  /// `metrics` must outlive this object. `proc` is for tests.
  explicit ProcessMetrics(base::Metrics& metrics, std::string proc = "/proc") : metrics_(metrics), proc_(proc) {}

  /// Reads all values again. Values that cannot be read are left unchanged.
  void refresh();

 private:
  void read_stat();

  base::Metrics& metrics_;
  const std::string proc_;
  double cpu_seconds_ = 0;  ///< Published so far
};

/// Publishes a series with value 1 whose labels identify the build.
void publish_build_info(base::Metrics& metrics, std::string_view version, std::string_view commit);

}  // namespace controllers
