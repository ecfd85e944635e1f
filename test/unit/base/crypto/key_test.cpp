#include "base/crypto/key.hpp"

#include <gtest/gtest.h>

#include "base/crypto/hash.hpp"

namespace crypto {
namespace {

struct HmacCase {
  const char* name;
  std::string key;
  std::string text;
  const char* want;
};
class Hmac : public testing::TestWithParam<HmacCase> {};
TEST_P(Hmac, MatchesTheStandard) { EXPECT_EQ(hmac_sha256(GetParam().key, GetParam().text), GetParam().want); }
/// RFC 4231, sections 4.2 to 4.4, 4.7 and 4.8.
INSTANTIATE_TEST_SUITE_P(
    Rfc4231, Hmac,
    testing::Values(
        HmacCase{"Case1", std::string(20, '\x0b'), "Hi There",
                 "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        HmacCase{"Case2AShortKey", "Jefe", "what do ya want for nothing?",
                 "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        HmacCase{"Case3", std::string(20, '\xaa'), std::string(50, '\xdd'),
                 "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        HmacCase{"Case6AKeyLongerThanABlock", std::string(131, '\xaa'),
                 "Test Using Larger Than Block-Size Key - Hash Key First",
                 "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        HmacCase{"Case7KeyAndTextLongerThanABlock", std::string(131, '\xaa'),
                 "This is a test using a larger than block-size key and a larger than block-size data. The key needs "
                 "to be hashed before being used by the HMAC algorithm.",
                 "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Sha256, MatchesTheStandard) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(EqualInConstantTime, ComparesAllOfBoth) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
  EXPECT_FALSE(equal_in_constant_time("", "a"));
}

TEST(Canonical, SeparatesFields) {
  EXPECT_EQ(canonical("p", {"shop", "", "a:b,"}), "1:p,4:shop,0:,4:a:b,,");
  EXPECT_NE(canonical("p", {"ab", "c"}), canonical("p", {"a", "bc"}));
  EXPECT_NE(canonical("p", {"a", ""}), canonical("p", {"a"}));
  EXPECT_NE(canonical("p", {"1:b,"}), canonical("p", {"", "b"}));
}

Key key(char filler) { return *Key::from_bytes(std::string(Key::kBytes, filler)); }

TEST(Key, IsNeitherTooShortNorTooLong) {
  EXPECT_FALSE(Key::from_bytes(std::string(Key::kBytes - 1, 'x')));
  EXPECT_FALSE(Key::from_bytes(std::string(Key::kMaxBytes + 1, 'x')));
  EXPECT_TRUE(Key::from_bytes(std::string(Key::kMaxBytes, 'x')));
}

TEST(Key, HasADistinctId) {
  EXPECT_EQ(key('a').id().size(), 16U);
  EXPECT_EQ(key('a').id(), key('a').id());
  EXPECT_NE(key('a').id(), key('b').id());
}

TEST(Key, VerifiesOnlyItsSignaturesForThatPurpose) {
  const std::string mac = key('a').sign("origin", {"shop", "web-1"});
  EXPECT_TRUE(key('a').verifies(mac, "origin", {"shop", "web-1"}));
  EXPECT_FALSE(key('a').verifies(mac, "audit", {"shop", "web-1"}));
  EXPECT_FALSE(key('a').verifies(mac, "origin", {"shop", "web-2"}));
  EXPECT_FALSE(key('b').verifies(mac, "origin", {"shop", "web-1"}));
  EXPECT_FALSE(key('a').verifies("", "origin", {"shop", "web-1"}));
}

TEST(Key, IsRandomWhenItIsNew) {
  const auto one = Key::random();
  const auto other = Key::random();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->bytes().size(), Key::kBytes);
  EXPECT_NE(one->bytes(), other->bytes());
}

TEST(KeyRing, FindsTheCurrentAndThePreviousKey) {
  const KeyRing keys{key('b'), key('a')};
  EXPECT_EQ(keys.find(key('a').id()), &*keys.previous);
  EXPECT_EQ(keys.find(key('b').id()), &keys.current);
  EXPECT_EQ(keys.find(key('c').id()), nullptr);
  EXPECT_EQ(keys.find(""), nullptr);
  EXPECT_EQ((KeyRing{key('b'), {}}.find(key('a').id())), nullptr);
}

}  // namespace
}  // namespace crypto
