#pragma once

/// Contract of api::encode_change(): its merge patch equals that of the complete statuses.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/json/json.hpp"

namespace test_api {

/// Compares the merge patches of one member. Objects contain only the differing members, other values are complete.
inline void expect_same_patch(const api::Json& was, const api::Json& is, const api::Json& before,
                              const api::Json& after, const std::string& name) {
  const auto at = [&](const api::Json& json) { return json.contains(name) ? json.at(name) : api::Json(); };
  if (at(before) == at(after)) {
    EXPECT_EQ(at(was), at(is)) << name;
    return;
  }
  EXPECT_EQ(at(is), at(after)) << name;
  EXPECT_EQ(is.contains(name), after.contains(name)) << name;
  EXPECT_EQ(was.contains(name), before.contains(name)) << name;
  EXPECT_TRUE(!before.contains(name) || !after.contains(name) || at(was) != at(after)) << name << " is left out";
  EXPECT_TRUE(!at(before).is_object() || at(was) == at(before)) << name;
}

/// Compares every pair of statuses.
template <typename Status>
void expect_changes_are_patches(const std::vector<Status>& all) {
  for (const Status& before : all) {
    for (const Status& after : all) {
      const auto [was, is] = api::encode_change(before, after);
      const api::Json full_before = api::encode_status(before);
      const api::Json full_after = api::encode_status(after);
      api::Json names = full_before;
      names.update(full_after);
      for (const auto& [name, value] : names.items()) expect_same_patch(was, is, full_before, full_after, name);
    }
  }
}

}  // namespace test_api
