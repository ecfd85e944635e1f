#pragma once

#include <functional>

namespace kube {

/// Optional interface of a WatchStream that notifies a listener, so that no thread has to wait in next().
class ReadinessSource {
 public:
  virtual ~ReadinessSource() = default;

  /// Sets a listener that is called each time next() may have a new result, including the end of the stream, and
  /// immediately if there already is one. Any thread may call it, with a lock of the stream held: it must be quick and
  /// must not use the stream. It is not called after the stream is destroyed. Call at most once, before the first
  /// next(). Returns false if the stream does not support listeners.
  virtual bool on_news(std::function<void()> news) = 0;
};

}  // namespace kube
