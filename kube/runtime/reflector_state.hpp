#pragma once

/// Protocol of the reflector as a pure step function: list, watch from that version, resume after a break, list again
/// if the version is too old. Independent of clients, threads and clocks.

#include <string>
#include <variant>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace kube {

/// `failures` is the number of failed steps since the last progress. A step that increases it is followed by a backoff.
struct NeedsList {
  int failures = 0;
  int page_shift = 0;  ///< page size = the normal one times 2^page_shift
  friend bool operator==(const NeedsList&, const NeedsList&) = default;
};
/// A list is being received as the beginning of a watch.
struct Streaming {
  int failures = 0;
  friend bool operator==(const Streaming&, const Streaming&) = default;
};
struct MustWatch {
  std::string resource_version;
  int failures = 0;
  friend bool operator==(const MustWatch&, const MustWatch&) = default;
};
struct Watching {
  std::string resource_version;
  int failures = 0;
  bool progressed = false;  ///< this watch delivered an event
  friend bool operator==(const Watching&, const Watching&) = default;
};
using ReflectorState = std::variant<NeedsList, Streaming, MustWatch, Watching>;

struct Listed {
  std::string resource_version;
};
struct ListOpened {};  ///< opened as a stream
struct ListFailed {
  base::Error error;
};
struct WatchOpened {};
struct WatchRefused {
  base::Error error;
};
struct Changed {
  std::string resource_version;
};  ///< ADDED, MODIFIED, DELETED or BOOKMARK; empty if the object has no version
struct ServerError {
  base::Error error;
};                    ///< the event ERROR
struct Malformed {};  ///< a line that is not a watch event
struct StreamEnded {
  bool immediately = false;
};  ///< closed, broken or idle; `immediately` if within a second of its opening
using ReflectorInput = std::variant<Listed, ListOpened, ListFailed, WatchOpened, WatchRefused, Changed, ServerError,
                                    Malformed, StreamEnded>;

/// Returns the state after `input`. An input that is invalid in `from` does not change it.
ReflectorState next_state(const ReflectorState& from, const ReflectorInput& input);

int failures_of(const ReflectorState& state);
/// Returns the number of items to request per page.
int page_limit(const NeedsList& state, int normal);

/// Returns min · 2^(failures-1), at most max, multiplied by 0.5 … 1 depending on `random` in [0, 1). Zero without
/// failures.
base::Duration reflector_backoff(int failures, base::Duration min, base::Duration max, double random);

}  // namespace kube
