#include "planner/scheduling/refusal.hpp"

#include <fmt/format.h>

namespace scheduling {

std::string Refusal::message() const {
  return fmt::format(fmt::runtime(fmt::string_view(text.data(), text.size())), fmt::arg("subject", subject),
                     fmt::arg("wanted", wanted), fmt::arg("available", available));
}

}  // namespace scheduling
