#pragma once

/// The reflector's protocol as a pure step function: list, watch from there, resume after a break, list again
/// when the version is too old. Knows nothing of clients, threads and clocks.

#include <string>
#include <variant>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace kube {

/// `failures` counts the failed steps since something was learnt. A step that raised it is followed by a back-off.
struct MustList {
  int failures = 0;
  int page_shift = 0;  ///< page size = the normal one times 2^page_shift
  friend bool operator==(const MustList&, const MustList&) = default;
};
/// A list that is the beginning of a watch is coming in.
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
  bool progressed = false;  ///< this watch brought something
  friend bool operator==(const Watching&, const Watching&) = default;
};
using ReflectorState = std::variant<MustList, Streaming, MustWatch, Watching>;

struct Listed {
  std::string resource_version;
};
struct ListOpened {};  ///< as a stream
struct ListFailed {
  base::Error error;
};
struct WatchOpened {};
struct WatchRefused {
  base::Error error;
};
struct Changed {
  std::string resource_version;
};  ///< ADDED, MODIFIED, DELETED or BOOKMARK; empty: the object had none
struct ServerError {
  base::Error error;
};                    ///< the event ERROR
struct Malformed {};  ///< a line that is no watch event
struct StreamEnded {
  bool at_once = false;
};  ///< closed, broken or idle; `at_once`: within a second of its opening
using ReflectorInput = std::variant<Listed, ListOpened, ListFailed, WatchOpened, WatchRefused, Changed, ServerError,
                                    Malformed, StreamEnded>;

/// Where `input` leads. An input that does not belong to `from` leaves it as it is.
ReflectorState next_state(const ReflectorState& from, const ReflectorInput& input);

int failures_of(const ReflectorState& state);
/// How many items to ask for per page.
int page_limit(const MustList& state, int normal);

/// min · 2^(failures-1), at most max, times 0.5 … 1 by `random` in [0, 1). Zero for no failures.
base::Duration reflector_backoff(int failures, base::Duration min, base::Duration max, double random);

}  // namespace kube
