#pragma once

#include <functional>

namespace kube {

/// What a WatchStream may be beside: one that tells when it has news, so that nobody has to wait in next().
class NewsSource {
 public:
  virtual ~NewsSource() = default;

  /// Calls `news` each time that next() may have something to say that it had not before, an end included, and at once
  /// for what is there now. By any thread, under a lock of the stream: it must be quick and not touch the stream. Not
  /// called any more once the stream is gone. False: it cannot tell after all. Before the first next(), once.
  virtual bool on_news(std::function<void()> news) = 0;
};

}  // namespace kube
