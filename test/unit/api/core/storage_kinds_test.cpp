#include "api/core/storage_kinds.hpp"

#include <gtest/gtest.h>

namespace api {
namespace storage_kinds_test {

TEST(VolumeAttachment, ContainsVolumeAndNode) {
  const auto read = decode_volume_attachment(R"({"metadata": {"name": "csi-1"}, "spec": {
    "attacher": "ebs.csi.aws.com", "nodeName": "n1", "source": {"persistentVolumeName": "pv-1"}},
    "status": {"attached": true}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->meta.name, "csi-1");
  EXPECT_EQ(read->driver, "ebs.csi.aws.com");
  EXPECT_EQ(read->node, "n1");
  EXPECT_EQ(read->volume, "pv-1");
}

TEST(VolumeAttachment, MayHaveNoVolumeName) {
  EXPECT_EQ(decode_volume_attachment(R"({"spec": {"source": {"inlineVolumeSpec": {}}}})")->volume, "");
  EXPECT_EQ(decode_volume_attachment(R"({"spec": {"source": 7, "nodeName": []}})")->volume, "");
  EXPECT_FALSE(decode_volume_attachment("[]"));
}

TEST(CsiDriver, PublishesItsCapacityOnlyIfConfigured) {
  EXPECT_TRUE(decode_csi_driver(R"({"spec": {"storageCapacity": true}})")->tells_capacity);
  EXPECT_FALSE(decode_csi_driver(R"({"spec": {"storageCapacity": false}})")->tells_capacity);
  EXPECT_FALSE(decode_csi_driver(R"({"spec": {"storageCapacity": "yes"}})")->tells_capacity);
  EXPECT_FALSE(decode_csi_driver("{}")->tells_capacity);
}

TEST(CsiStorageCapacity, ContainsFreeCapacityAndNodes) {
  const auto read = decode_csi_storage_capacity(R"({"metadata": {"name": "c", "namespace": "csi"},
    "storageClassName": "fast", "nodeTopology": {"matchLabels": {"zone": "z1"}},
    "capacity": "100Gi", "maximumVolumeSize": "10Gi"})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->storage_class, "fast");
  ASSERT_TRUE(read->nodes);
  EXPECT_TRUE(read->nodes->matches({{"zone", "z1"}}));
  EXPECT_FALSE(read->nodes->matches({{"zone", "z2"}}));
  EXPECT_EQ(read->capacity, Quantity::parse("100Gi"));
  EXPECT_EQ(read->largest, Quantity::parse("10Gi"));
}

TEST(CsiStorageCapacity, SufficesUpToTheLargestVolume) {
  CsiStorageCapacity left;
  EXPECT_FALSE(left.fits(Quantity::from_units(1)));
  left.capacity = Quantity::from_units(10);
  EXPECT_TRUE(left.fits(Quantity::from_units(10)));
  EXPECT_FALSE(left.fits(Quantity::from_units(11)));
  left.largest = Quantity::from_units(5);
  EXPECT_FALSE(left.fits(Quantity::from_units(6)));
}

TEST(CsiStorageCapacity, RejectsInvalidAmounts) {
  const auto read = decode_csi_storage_capacity(R"({"capacity": "much", "nodeTopology": 3})");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->capacity);
  EXPECT_FALSE(read->nodes);
}

}  // namespace storage_kinds_test
}  // namespace api
