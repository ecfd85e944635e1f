#include "cmd/convert/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "api/json/yaml.hpp"
#include "api/policy/bounds.hpp"
#include "api/wire_names.hpp"
#include "cmd/commands.hpp"
#include "cmd/input/files.hpp"
#include "cmd/output.hpp"
#include "cmd/table.hpp"
#include "controllers/policy/schedule/schedule.hpp"
#include "planner/strategies/catalog.hpp"

namespace cmd {
namespace {

using convert::Conversion;
using convert::ConversionNote;
using convert::NoteKind;

std::string shown_name(const std::string& file) { return one_line(shown_path(file)); }

/// Returns the index of the policy whose source path is the longest prefix of the note's path, else 0.
std::size_t policy_of_note(const Conversion& conversion, const ConversionNote& note) {
  std::size_t best = 0;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < conversion.sources.size(); ++i) {
    const std::string& source = conversion.sources[i];
    if (!note.path.starts_with(source) || source.size() <= longest) continue;
    best = i;
    longest = source.size();
  }
  return best;
}

std::string comments_of(const Conversion& conversion, std::size_t policy, const std::string& file) {
  std::string text = fmt::format("# Converted by evacuator convert from {}{}.\n", shown_name(file),
                                 conversion.sources[policy].empty() ? "" : ", " + one_line(conversion.sources[policy]));
  for (const ConversionNote& note : conversion.notes) {
    if (policy_of_note(conversion, note) == policy) text += fmt::format("# {}\n", one_line(note.to_string()));
  }
  return text;
}

/// Returns YAML documents, each with comments on its source and on what was not converted.
std::string as_yaml(const Conversion& conversion, const std::string& file) {
  std::string text;
  for (std::size_t i = 0; i < conversion.policies.size(); ++i) {
    if (i > 0) text += "---\n";
    text += comments_of(conversion, i, file) + api::to_yaml(conversion.policies[i]);
  }
  return text;
}

/// Returns one object, a List if there are several policies.
std::string as_json_text(const Conversion& conversion) {
  if (conversion.policies.empty()) return {};
  if (conversion.policies.size() == 1) return conversion.policies.front().dump(2) + "\n";
  const api::Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", conversion.policies}};
  return list.dump(2) + "\n";
}

base::Result<convert::UpstreamOptions> read_options(const ConvertOptions& options) {
  convert::UpstreamOptions read;
  read.mode = api::value_of(api::kModeNames, options.mode).value_or(api::PolicyMode::kDryRun);
  read.compatibility = options.compatibility;
  if (!options.chart_version.empty()) {
    read.chart_minor = convert::chart_minor_of(options.chart_version);
    if (!read.chart_minor)
      return base::invalid(
          fmt::format("--chart-version: \"{}\" is not a version of the chart such as 0.29.0", options.chart_version));
  }
  if (options.interval.empty()) return read;
  const auto interval = base::parse_duration(options.interval);
  if (!interval) return base::invalid(fmt::format("--interval: \"{}\" is not a duration such as 5m", options.interval));
  api::FieldErrors errors;
  api::check_duration(errors, api::FieldPath("--interval"), *interval, api::bounds::kMinInterval,
                      api::bounds::kMaxInterval);
  if (!errors.empty()) return api::to_error(errors);
  read.interval = std::chrono::duration_cast<base::seconds>(*interval);
  return read;
}

/// Prints the notes of these kinds, in that order.
void report(const Conversion& conversion, std::span<const NoteKind> kinds) {
  for (const NoteKind kind : kinds) {
    for (const ConversionNote& note : conversion.notes) {
      if (note.kind == kind) print_err("{}\n", one_line(note.to_string()));
    }
  }
}

/// Prints why no policy is written. Dropped parts come first because they may be the reason; other notes concern a
/// policy that is not written.
int refuse(const Conversion& conversion, const std::string& file) {
  report(conversion, std::array{NoteKind::kDropped});
  for (const api::FieldError& error : conversion.errors) {
    const std::string place = error.path.empty() ? error.message : error.to_string();
    print_err("evacuator convert: {}: {}\n", shown_name(file), one_line(place));
  }
  print_err("evacuator convert: {}: no policy written\n", shown_name(file));
  return 1;
}

/// Returns why no policy is written, or an empty string if policies are written.
std::string_view why_not_written(const Conversion& conversion, bool is_strict) {
  const bool dropped =
      std::ranges::any_of(conversion.notes, [](const auto& n) { return n.kind == NoteKind::kDropped; });
  if (!conversion.policies.empty()) return is_strict && dropped ? "something has no equivalent (--strict)" : "";
  return dropped ? "none of its enabled strategies could be converted" : "it enables no strategy";
}

}  // namespace

convert::StrategyCatalogue strategy_catalogue() {
  return {strategies::known_strategies(),
          [](const std::vector<api::StrategyChoice>& choices) { return strategies::validate(choices); },
          [](const api::PolicySchedule& schedule) { return controllers::schedule_problems(schedule, {}); }};
}

int run_convert(const ConvertOptions& options) {
  const auto read = read_options(options);
  const auto text = read_text_file(options.file, kMaxPolicyBytes);
  if (!read || !text) return exit_code_of("evacuator convert", read ? text.error() : read.error());
  const Conversion conversion = convert::convert_upstream(*text, strategy_catalogue(), *read);
  if (!conversion.errors.empty()) return refuse(conversion, options.file);
  report(conversion, std::array{NoteKind::kDropped, NoteKind::kAdded, NoteKind::kChanged, NoteKind::kIgnored});
  if (const std::string_view why = why_not_written(conversion, options.strict); !why.empty()) {
    print_err("evacuator convert: {}: no policy written: {}\n", shown_name(options.file), why);
    return 1;
  }
  write_out(options.output == "json" ? as_json_text(conversion) : as_yaml(conversion, options.file));
  return 0;
}

}  // namespace cmd
