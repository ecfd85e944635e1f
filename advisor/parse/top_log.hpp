#pragma once

/// Reads logs of `kubectl top pods --containers` (docs/advise/requests.md describes how to record one). Pure; safe for
/// any input.

#include <cstddef>
#include <functional>
#include <string_view>

#include "advisor/history.hpp"
#include "base/result.hpp"

namespace advisor {

/// Statistics of a parsed log.
struct LogNotes {
  std::size_t samples = 0;
  std::size_t unreadable = 0;  ///< number of lines that are neither time, header nor sample, mostly errors of kubectl
  std::size_t first_unreadable = 0;  ///< its line number, from 1
};

/// Reads blocks of lines. A time (parse_history_time()) is either on its own line before a block, optionally preceded
/// by "#", or at the start of every line. The columns are NAMESPACE POD NAME CPU MEMORY. Without NAMESPACE (output of
/// `kubectl -n`) the pods are in namespace `ns`. A header may precede the samples; if it names a swap column, that
/// column is ignored. Calls each(sample) in the order of the log; texts of a sample are valid during the call only.
/// Returns an error with the line for a sample before any time, a sample without namespace when `ns` is empty, or a
/// header of a list of something other than containers.
base::Result<LogNotes> read_top_log(std::string_view text, std::string_view ns,
                                    const std::function<void(const Sample&)>& each);

}  // namespace advisor
