#pragma once

#include <string>
#include <string_view>

namespace kube {

/// Percent-encodes everything but RFC 3986's unreserved characters, so that text stays one value in a query.
std::string escape(std::string_view text);

/// The same for one segment of a path; "." and ".." are encoded, too, so that a hostile name cannot climb.
std::string escape_segment(std::string_view text);

/// Adds "key=value" with both sides encoded, behind "&" when `query` is not empty.
void append_query(std::string& query, std::string_view key, std::string_view value);

}  // namespace kube
