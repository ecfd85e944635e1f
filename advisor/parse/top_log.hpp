#pragma once

/// Logs of `kubectl top pods --containers` (docs/advise/requests.md says how to take one). Pure; survives any input.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "advisor/history.hpp"
#include "base/result.hpp"

namespace advising {

/// What of a log was no sample.
struct LogNotes {
  std::size_t samples = 0;
  std::size_t unreadable = 0;  ///< lines that are neither a time, a header nor a sample: errors of kubectl, mostly
  std::size_t first_unreadable = 0;  ///< its line, from 1
};

/// Reads blocks of lines. A time (parse_history_time()) stands on a line of its own before a block, with "#" before
/// it or not, or in front of every line. The columns are NAMESPACE POD NAME CPU MEMORY; without NAMESPACE, as `-n`
/// prints them, pods are of `ns`; a column of swap behind them, which a header names, is left out. Headers may be
/// there. each(sample) gets what is read, in order; its texts live during the call. An error names the line: a sample
/// before any time, one without a namespace when `ns` is empty, or a header of a list of something else than
/// containers.
base::Result<LogNotes> read_top_log(std::string_view text, std::string_view ns,
                                    const std::function<void(const Sample&)>& each);

}  // namespace advising
