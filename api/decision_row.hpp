#pragma once

/// JSON members that rows of status.refusals and status.history have in common.

#include <nlohmann/json.hpp>

#include "api/json/lenient.hpp"

namespace api {

/// `Row` is RefusedPod or PastDecision.
template <typename Row>
void read_decision_row(const Json& json, Row& row) {
  const auto number = [&](const char* name) {
    return json.contains(name) ? std::optional(lenient::integer(json, name)) : std::nullopt;
  };
  row.ns = lenient::text(json, "namespace");
  row.pod = lenient::text(json, "pod");
  row.uid = lenient::text(json, "uid");
  row.node = lenient::text(json, "node");
  row.strategy = lenient::text(json, "strategy");
  row.reason = lenient::text(json, "reason");
  row.message = lenient::text(json, "message");
  row.subject = lenient::text(json, "subject");
  row.wanted = number("wanted");
  row.available = number("available");
}

template <typename Row>
Json encode_decision_row(const Row& row) {
  Json json = {{"namespace", row.ns}, {"pod", row.pod}, {"uid", row.uid}};
  put_text(json, "node", row.node);
  put_text(json, "strategy", row.strategy);
  put_text(json, "reason", row.reason);
  put_text(json, "message", row.message);
  put_text(json, "subject", row.subject);
  if (row.wanted) json["wanted"] = *row.wanted;
  if (row.available) json["available"] = *row.available;
  return json;
}

}  // namespace api
