#pragma once

#include <string>

#include "base/metrics.hpp"

namespace controllers {

/// What the kernel says of this process, under the names that every Prometheus client uses. Of one thread at a time.
class ProcessMetrics {
 public:
  /// `metrics` must outlive it. `proc`: for tests.
  explicit ProcessMetrics(base::Metrics& metrics, std::string proc = "/proc") : metrics_(metrics), proc_(proc) {}

  /// Reads them anew; what cannot be read stays as it was.
  void refresh();

 private:
  void read_stat();
  void read_files();

  base::Metrics& metrics_;
  const std::string proc_;
  double cpu_seconds_ = 0;  ///< told so far
};

/// A series that is 1 for ever and says which build this is.
void publish_build_info(base::Metrics& metrics, std::string_view version, std::string_view commit);

}  // namespace controllers
