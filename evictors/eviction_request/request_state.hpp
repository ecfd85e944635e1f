#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "api/eviction_request.hpp"
#include "evictors/evictor.hpp"

namespace evictors::eviction_request {

/// State that the evictor eviction-request reads from its documents. Untrusted input: invalid content reads as absent.
struct RequestState {
  enum class Api {
    kUnread,     ///< no document yet
    kServed,     ///< also if the answer is unclear, because the call itself then gives a clear answer
    kNotServed,  ///< 404, or one of the two kinds is missing
    kHidden,     ///< like kNotServed, but contradicts discovery: another server answered, or the API comes and goes
    kForbidden,
  };
  enum class Presence {
    kUnknown,  ///< not read, or no clear answer
    kAbsent,
    kOurs,     ///< has Evacuator's requester key and this pod's UID
    kForeign,  ///< another client's object has the name of the request
  };
  Api api = Api::kUnread;
  Presence presence = Presence::kUnknown;
  api::EvictionRequest request;                ///< set if kOurs or kForeign
  bool evictions_known = false;                ///< the list of labelled Evictions was read
  bool all_evictions_known = false;            ///< the full list was read, needed if the labelled one has none open
  std::vector<api::NativeEviction> evictions;  ///< Evictions of this pod's UID, oldest first
  std::string denied;  ///< action that RBAC denies, such as "delete evictionrequests"; empty if all are allowed

  /// Returns true if Evacuator's request is in effect: neither withdrawn nor being deleted.
  bool asks() const { return presence == Presence::kOurs && !request.withdrawn && !request.meta.is_terminating(); }
  /// Returns true if one of the Evictions is unfinished.
  bool has_open() const {
    return std::ranges::any_of(evictions, [](const api::NativeEviction& each) { return !each.is_final(); });
  }
  /// Returns the unfinished Eviction, else the newest one, or nullptr if there are none.
  const api::NativeEviction* current() const {
    const auto open = std::ranges::find_if(evictions, [](const auto& each) { return !each.is_final(); });
    if (open != evictions.end()) return &*open;
    return evictions.empty() ? nullptr : &evictions.back();
  }
  /// Returns true if another requester still wants the pod to leave.
  bool others_remain() const;
};

inline constexpr std::string_view kApiDocument = "api";
inline constexpr std::string_view kRequestDocument = "request";
inline constexpr std::string_view kEvictionsDocument = "evictions";
/// List without a label selector, because an Eviction gets its labels some time after its creation.
inline constexpr std::string_view kAllEvictionsDocument = "all evictions";

/// Permissions that the evictor needs, each checked by a SelfSubjectAccessReview. Only an explicit denial counts.
/// Without an answer the call itself shows whether it is allowed.
struct Access {
  std::string_view verb;
  std::string_view resource;
};
inline constexpr std::array<Access, 4> kAccess = {{{"create", "evictionrequests"},
                                                   {"patch", "evictionrequests"},
                                                   {"delete", "evictionrequests"},
                                                   {"list", "evictions"}}};
/// Returns the name of the read: "may create evictionrequests".
std::string access_name(const Access& access);
Read access_read(const Access& access, const std::string& ns);

RequestState read_state(const EvictorContext& context);

/// Keys in status.refs. The first two name the objects of the attempt as "<name>/<uid>". kOthersRef records that other
/// requesters remained when the request was deleted.
inline constexpr std::string_view kRequestRef = "evictionRequest";
inline constexpr std::string_view kEvictionRef = "eviction";
inline constexpr std::string_view kOthersRef = "otherRequesters";
std::string ref_of(const api::ObjectMeta& meta);
/// Returns the part after the slash, empty if none exists.
std::string_view uid_of_ref(std::string_view ref);

/// Returns why the request cannot succeed any more although the pod still exists. Returns nullopt while it can.
std::optional<RemoteFailure> failure_of(const RequestState& view, std::string_view followed_uid);

}  // namespace evictors::eviction_request
