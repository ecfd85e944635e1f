#pragma once

#include <optional>

#include "kube/config/process_environment.hpp"
#include "planner/report/picture/blocks.hpp"

namespace cmd {

/// Returns the style for block graphics. `terminal_columns` is the width of the output terminal, nullopt if the output
/// is not a terminal. Uses UTF-8 according to the first of LC_ALL, LC_CTYPE and LANG that is set; color on a terminal
/// other than TERM=dumb, unless NO_COLOR is set (https://no-color.org); without a terminal the width of COLUMNS, or 80.
report::BlockStyle block_style(const kube::Environment& environment, std::optional<std::size_t> terminal_columns);

report::BlockStyle process_block_style();

}  // namespace cmd
