#pragma once

#include <string>

namespace fakes {

struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

/// A self-signed certificate for `name` (CN and DNS SAN, and 127.0.0.1), valid for an hour.
TestCertificate self_signed(const std::string& name);

}  // namespace fakes
