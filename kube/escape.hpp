#pragma once

#include <string>
#include <string_view>

namespace kube {

/// Percent-encodes all but RFC 3986's unreserved characters, so that text remains one value in a query.
std::string escape(std::string_view text);

/// Percent-encodes one segment of a path. Also encodes "." and "..", so that a hostile name cannot leave the folder.
std::string escape_segment(std::string_view text);

/// Appends "key=value" with both sides encoded, after "&" if `query` is not empty.
void append_query(std::string& query, std::string_view key, std::string_view value);

}  // namespace kube
