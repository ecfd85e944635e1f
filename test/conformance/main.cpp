#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "test/conformance/conformance_case.hpp"

namespace {

namespace fs = std::filesystem;
using conformance::Case;
using conformance::Json;
using conformance::Outcome;

struct Tally {
  std::map<Outcome, int> count;
};

fs::path directory() {
  if (const char* set = std::getenv("EVACUATOR_CONFORMANCE_DIR")) return set;
  return fs::path(EVACUATOR_SOURCE_DIR) / ".." / "shared" / "conformance";
}

std::vector<fs::path> files_below(const fs::path& root) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

struct Choice {
  conformance::Way way = conformance::Way::kDirect;
  std::string only;  ///< Substring of the ids of cases to run
};

Choice choice_of(int argc, char** argv) {
  Choice choice;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--converted") {
      choice.way = conformance::Way::kConverted;
    } else {
      choice.only = argv[i];
    }
  }
  return choice;
}

void run_file(const fs::path& file, const Choice& choice, const std::vector<conformance::Deviation>& deviations,
              std::map<std::string, Tally>& tallies) {
  std::ifstream stream(file);
  const Json document = Json::parse(stream, nullptr, false);
  if (!document.is_object() || !document.contains("cases")) {
    std::printf("%s: is no file of cases\n", file.c_str());
    ++tallies["(unreadable files)"].count[Outcome::kFailed];
    return;
  }
  const std::string plugin = document.value("plugin", "");
  for (const Json& json : document.at("cases")) {
    const Case each{plugin, json};
    if (!choice.only.empty() && each.id().find(choice.only) == std::string::npos) continue;
    const auto judgement = judge(each, deviations, choice.way);
    if (!judgement) continue;
    ++tallies[plugin].count[judgement->outcome];
    if (judgement->outcome == Outcome::kFailed)
      std::printf("FAILED %s: %s\n", each.id().c_str(), judgement->detail.c_str());
  }
}

int report(std::map<std::string, Tally>& tallies) {
  std::map<Outcome, int> sum;
  std::printf("%-46s %7s %7s %11s\n", "suite", "passed", "failed", "deliberate");
  for (auto& [plugin, tally] : tallies) {
    std::printf("%-46s %7d %7d %11d\n", plugin.c_str(), tally.count[Outcome::kPassed], tally.count[Outcome::kFailed],
                tally.count[Outcome::kDeliberate]);
    for (const auto& [outcome, count] : tally.count) sum[outcome] += count;
  }
  std::printf("%-46s %7d %7d %11d\n", "all", sum[Outcome::kPassed], sum[Outcome::kFailed], sum[Outcome::kDeliberate]);
  return sum[Outcome::kFailed];
}

}  // namespace

/// Usage: conformance [--converted] [PART-OF-ID]
int main(int argc, char** argv) {
  const fs::path root = directory();
  if (!fs::is_directory(root)) {
    std::printf("conformance: skipped, there is no %s\n", root.c_str());
    return EXIT_SUCCESS;
  }
  const auto deviations =
      conformance::read_deviations(EVACUATOR_SOURCE_DIR "/test/conformance/deviations.yaml", EVACUATOR_SOURCE_DIR);
  if (!deviations) {
    std::printf("%s\n", deviations.error().message.c_str());
    return EXIT_FAILURE;
  }
  std::map<std::string, Tally> tallies;
  const Choice choice = choice_of(argc, argv);
  for (const fs::path& file : files_below(root)) run_file(file, choice, *deviations, tallies);
  return report(tallies) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
