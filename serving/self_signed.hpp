#pragma once

#include <string>

#include "base/result.hpp"
#include "serving/server.hpp"

namespace serving {

/// A fresh P-256 key and a certificate for `name` (and 127.0.0.1, localhost) that signs itself and may serve as its own root;
/// valid from a minute ago for `valid`. For simulations and tests, not for clusters.
base::Result<Certificate> make_self_signed(const std::string& name, base::seconds valid = base::seconds(24 * 3600));

}  // namespace serving
