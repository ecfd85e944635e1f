#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace base64_test {

using base::decode_base64;
using base::encode_base64;

TEST(Base64, RoundTrips) {
  for (const std::string& text : {std::string(), std::string("f"), std::string("fo"), std::string("foo"),
                                  std::string("foob"), std::string("\0\xff\x80", 3)})
    EXPECT_EQ(decode_base64(encode_base64(text)), text);
  EXPECT_EQ(encode_base64("fo"), "Zm8=");
  EXPECT_EQ(decode_base64("Zm\n9v\r\n Zg=="), "foof");
  for (const char* bad : {"Z", "Zm9", "Zm9vZ", "Zm=v", "====", "Zm8=Zm8=", "Zm9v-_", "=", "Z==="})
    EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
}

}  // namespace base64_test
