#pragma once

#include <optional>

#include "kube/config/process_environment.hpp"
#include "planner/report/picture/blocks.hpp"

namespace cmd {

/// What may be drawn. `terminal_columns`: of the terminal that it goes to; nullopt: it goes elsewhere. UTF-8 by the
/// first of LC_ALL, LC_CTYPE and LANG that says something; colour on a terminal that is not TERM=dumb, unless NO_COLOR
/// says otherwise (https://no-color.org); without a terminal as wide as COLUMNS says, or 80.
reporting::BlockStyle block_style(const kube::Environment& environment, std::optional<std::size_t> terminal_columns);

/// For this process's standard output.
reporting::BlockStyle process_block_style();

}  // namespace cmd
