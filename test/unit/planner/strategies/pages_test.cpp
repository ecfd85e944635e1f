/// Examples that users copy: every strategy has a page and a sample, and every policy in docs/ and config/samples/ is
/// valid including its args.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "api/json/yaml.hpp"
#include "api/vocabulary/refusals.hpp"
#include "planner/strategies/catalog.hpp"

namespace strategies {
namespace pages_test {

namespace fs = std::filesystem;

const fs::path kSourceDir = EVACUATOR_SOURCE_DIR;

/// "PodLifeTime" → "pod-life-time".
std::string page_name(std::string_view strategy) {
  std::string text;
  for (const char c : strategy) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper && !text.empty()) text += '-';
    text += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the contents of the ```yaml fences.
std::vector<std::string> yaml_blocks(const std::string& page) {
  constexpr std::string_view kOpen = "```yaml\n";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(kOpen); at != std::string::npos; at = page.find(kOpen, at)) {
    at += kOpen.size();
    const std::size_t end = std::min(page.find("\n```", at), page.size());
    blocks.push_back(page.substr(at, end - at));
    at = end;
  }
  return blocks;
}

std::vector<api::Json> policies_in(const std::string& yaml) {
  std::vector<api::Json> policies;
  const auto documents = api::parse_yaml(yaml);
  if (!documents) return policies;  // The block is an excerpt
  for (const api::Json& document : *documents) {
    if (document.is_object() && document.value("kind", "") == "DeschedulerPolicy" &&
        document.value("apiVersion", "") == "evacuator.dev/v1alpha1")
      policies.push_back(document);
  }
  return policies;
}

/// Decodes and validates the policy. Returns the names of its strategies.
std::set<std::string> expect_valid(const api::Json& object, const fs::path& where) {
  std::set<std::string> names;
  const auto policy = api::decode_descheduler_policy(object);
  EXPECT_TRUE(policy) << where << ": " << policy.error().message;
  if (!policy) return names;
  for (const api::FieldError& error : validate(policy->spec.strategies))
    ADD_FAILURE() << where << ": " << error.to_string();
  for (const api::StrategyChoice& choice : policy->spec.strategies) names.insert(choice.name);
  return names;
}

TEST(Pages, ContainValidPolicies) {
  for (const auto& entry : fs::recursive_directory_iterator(kSourceDir / "docs")) {
    if (entry.path().extension() != ".md") continue;
    for (const std::string& block : yaml_blocks(text_of(entry.path()))) {
      for (const api::Json& object : policies_in(block)) expect_valid(object, entry.path());
    }
  }
}

TEST(Pages, ExistForEveryStrategyWithAPolicyOfIt) {
  for (const std::string_view name : known_strategies()) {
    const fs::path page = kSourceDir / "docs/strategies" / (page_name(name) + ".md");
    ASSERT_TRUE(fs::exists(page)) << page;
    const std::string text = text_of(page);
    EXPECT_TRUE(text.starts_with("# " + std::string(name) + "\n")) << page;
    EXPECT_NE(text.find("**When to use it.**"), std::string::npos) << page;
    EXPECT_NE(text.find("**Pitfalls.**"), std::string::npos) << page;
    std::set<std::string> used;
    for (const std::string& block : yaml_blocks(text)) {
      for (const api::Json& object : policies_in(block)) used.merge(expect_valid(object, page));
    }
    EXPECT_TRUE(used.contains(std::string(name))) << page << " shows no policy of it";
    EXPECT_NE(text_of(kSourceDir / "docs/strategies/README.md").find("(" + page.filename().string() + ")"),
              std::string::npos)
        << "docs/strategies/README.md does not name " << page.filename();
  }
}

TEST(Samples, AreValidListedAndCoverEveryStrategy) {
  const auto kustomization = api::parse_yaml(text_of(kSourceDir / "config/samples/kustomization.yaml"));
  ASSERT_TRUE(kustomization) << kustomization.error().message;
  const auto listed = kustomization->at(0).at("resources").get<std::set<std::string>>();
  std::set<std::string> used;
  std::map<std::string, fs::path> names;
  for (const auto& entry : fs::directory_iterator(kSourceDir / "config/samples")) {
    const std::string file = entry.path().filename().string();
    for (const api::Json& object : policies_in(text_of(entry.path()))) {
      used.merge(expect_valid(object, entry.path()));
      EXPECT_TRUE(listed.contains(file)) << file << " is not in kustomization.yaml";
      const auto [at, is_new] = names.emplace(object.at("metadata").at("name"), entry.path());
      EXPECT_TRUE(is_new) << entry.path() << " and " << at->second << " have the same name";
    }
  }
  for (const std::string_view name : known_strategies())
    EXPECT_TRUE(used.contains(std::string(name))) << "no sample has " << name;
}

/// Returns each "Name" from which the code makes a refusal: Refusal{"Name", "…"}, {"Name", "…"} inside it,
/// stays("Name", …), refusals["Name"].
std::set<std::string> refusal_reasons_in(const std::string& code) {
  std::set<std::string> reasons;
  static const std::regex kMade(
      R"re((?:(?:\{|stays\()\s*"([A-Z][A-Za-z]+)",\s*(?:"[a-z]|pod_group))|refusals\["([A-Za-z]+)"\])re");
  for (std::sregex_iterator at(code.begin(), code.end(), kMade), end; at != end; ++at)
    reasons.insert((*at)[(*at)[1].matched ? 1 : 2]);
  return reasons;
}

TEST(Pages, EveryRefusalHasItsRow) {
  std::set<std::string> known;
  for (const auto& terms : {api::pod_refusals(), api::node_refusals()})
    for (const api::RefusalTerm& term : terms) known.insert(std::string(term.name));
  std::set<std::string> made;
  for (const char* folder : {"planner", "controllers"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kSourceDir / folder)) {
      if (entry.path().extension() == ".cpp") made.merge(refusal_reasons_in(text_of(entry.path())));
    }
  }
  EXPECT_GT(made.size(), 60U) << "the search finds what is there";
  for (const std::string& reason : made)
    EXPECT_TRUE(known.contains(reason)) << reason << ": api/vocabulary/refusals.cpp";
}

}  // namespace pages_test
}  // namespace strategies
