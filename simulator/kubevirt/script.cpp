#include "simulator/kubevirt/script.hpp"

#include <map>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/kubevirt/types.hpp"
#include "simulator/text.hpp"

namespace simulator::kubevirt {
namespace {

base::Error bad_word(std::string_view word, std::string_view why) {
  return base::invalid("migration script: \"" + std::string(word) + "\" " + std::string(why));
}

base::Status read_failures(std::string_view value, MigrationScript& script) {
  if (value == "always") {
    script.fail = -1;
    return base::Done{};
  }
  const auto count = base::parse_number<std::int64_t>(value);
  if (!count || *count < 0) return bad_word(value, "is no number of failures; write fail=2 or fail=always");
  script.fail = *count;
  return base::Done{};
}

base::Status read_word(std::string_view word, MigrationScript& script) {
  const auto [name, value] = split_pair(word, '=');
  if (name == "never-starts") return script.never_starts = true, base::Done{};
  if (name == "unschedulable") return script.unschedulable = true, base::Done{};
  if (name == "over-quota") return script.over_quota = true, base::Done{};
  if (name == "reason") return script.reason = value, base::Done{};
  if (name == "fail") return read_failures(value, script);
  const std::map<std::string_view, base::Duration*> fixed = {{"scheduled", &script.scheduled},
                                                             {"preparing", &script.preparing},
                                                             {"ready", &script.ready},
                                                             {"run", &script.run},
                                                             {"abort", &script.abort},
                                                             {"complete", &script.complete},
                                                             {"boot", &script.boot}};
  const std::map<std::string_view, std::optional<base::Duration>*> optional = {
      {"post-copy", &script.post_copy}, {"shutdown", &script.shutdown}, {"external", &script.external}};
  if (!fixed.contains(name) && !optional.contains(name)) return bad_word(name, "is no word of a migration script");
  const auto time = behaviour::parse_duration(value);
  if (!time) return bad_word(value, "is no duration, such as 2s or 1m30s");
  if (const auto found = fixed.find(name); found != fixed.end()) *found->second = *time;
  if (const auto found = optional.find(name); found != optional.end()) *found->second = *time;
  return base::Done{};
}

}  // namespace

base::Result<MigrationScript> MigrationScript::parse(std::string_view text) {
  MigrationScript script;
  for (const std::string_view word : split(text, ',')) {
    if (auto read = read_word(word, script); !read) return read.error();
  }
  return script;
}

MigrationScript MigrationScript::of(const api::Json& vmi) {
  const auto script = parse(annotation_of(vmi, behaviour::kMigrationScript));
  return script ? *script : MigrationScript{};
}

}  // namespace simulator::kubevirt
