// Compares every request that the operator sends in any test of this program with the roles of config/. A request that
// no role allows fails its test. With EVACUATOR_CHECK_GRANTS set (ctest: integration.every_grant_is_used), every grant
// must also have been needed by a request at the end of the program.

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "simulator/api/request_info.hpp"
#include "test/fakes/mortal_transport.hpp"
#include "test/integration/rbac/grants.hpp"

namespace integration::rbac {
namespace {

using api::Json;

/// The operator never sends this request: OwnerReferencesPermissionEnforcement checks it when an object with an owner
/// is created or changed.
const Access kAskedByAdmission = {"evacuator.dev", "resourceadvices", "delete"};

class Recorder final : public testing::Environment {
 public:
  void SetUp() override {
    granted_ = all_grants(default_roles());
    granted_.merge(all_grants(optional_roles()));
    allowed_on_pods_ = annotations_allowed_on_pods();
    fakes::MortalTransport::observer = [this](const kube::Request& request) { see(request); };
  }

  void TearDown() override {
    fakes::MortalTransport::observer = {};
    if (std::getenv("EVACUATOR_CHECK_GRANTS") == nullptr) return;
    for (const Access& each : granted_) {
      EXPECT_TRUE(asked_.contains(each) || each == kAskedByAdmission)
          << "config/ grants \"" << to_string(each) << "\", and no request needs it";
    }
    for (const std::string& each : allowed_on_pods_)
      EXPECT_TRUE(written_on_pods_.contains(each))
          << "pod-write-limits.yaml allows " << each << ", and nobody writes it";
  }

 private:
  void see(const kube::Request& request) {
    for (const Access& each : accesses_of(request)) {
      asked_.insert(each);
      if (!granted_.contains(each)) ADD_FAILURE() << "no role of config/ allows the operator to " << to_string(each);
    }
    const simulator::RequestInfo info = simulator::read_request(request);
    if (info.plural == "pods" && info.group.empty() && info.verb == "patch") see_pod_patch(request);
    if (request.body.find("blockOwnerDeletion") != std::string::npos)
      ADD_FAILURE() << "OwnerReferencesPermissionEnforcement asks for update of */finalizers: " << request.target();
  }

  /// Checks the CEL rules of config/optional/pod-write-limits.yaml.
  void see_pod_patch(const kube::Request& request) {
    const Json patch = Json::parse(request.body);
    EXPECT_EQ(patch.size(), 1U) << "more than metadata of a pod: " << request.body;
    for (const auto& [field, value] : patch.at("metadata").items()) {
      EXPECT_TRUE(field == "uid" || field == "resourceVersion" || field == "annotations") << request.body;
      if (field != "annotations") continue;
      for (const auto& [key, text] : value.items()) {
        written_on_pods_.insert(key);
        EXPECT_TRUE(allowed_on_pods_.contains(key)) << "pod-write-limits.yaml does not allow annotation " << key;
      }
    }
  }

  std::set<Access> granted_;
  std::set<Access> asked_;
  std::set<std::string> allowed_on_pods_;
  std::set<std::string> written_on_pods_;
};

[[maybe_unused]] const testing::Environment* const kRecorder = testing::AddGlobalTestEnvironment(new Recorder);

}  // namespace
}  // namespace integration::rbac
