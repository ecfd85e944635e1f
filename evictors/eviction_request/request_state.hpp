#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "api/eviction_request.hpp"
#include "evictors/evictor.hpp"

namespace evictors::native {

/// What the documents of evictor eviction-request show. Foreign text: whatever makes no sense counts as not seen.
struct RequestState {
  enum class Api {
    kUnread,     ///< not asked
    kServed,     ///< or no clear answer: then the call itself will tell
    kNotServed,  ///< 404, or without the two kinds
    kHidden,     ///< the same, but the server says that it serves it: somebody else answers, or it comes and goes
    kForbidden,
  };
  enum class Presence {
    kUnknown,  ///< not read, or no clear answer
    kAbsent,
    kOurs,     ///< our requester key and this pod's UID
    kForeign,  ///< somebody else's object has our name
  };
  Api api = Api::kUnread;
  Presence presence = Presence::kUnknown;
  api::EvictionRequest request;                ///< kOurs, kForeign
  bool evictions_known = false;                ///< the list of labelled ones could be read
  bool all_evictions_known = false;            ///< and, as that has no open one, the list without a selector
  std::vector<api::NativeEviction> evictions;  ///< of this pod's UID, oldest first
  std::string denied;  ///< what RBAC does not let us do: "delete evictionrequests"; empty: nothing

  /// Ours and counting: neither withdrawn nor being deleted.
  bool asks() const;
  /// One of the Evictions is unfinished.
  bool has_open() const;
  /// The unfinished one, else the newest; nullptr: none.
  const api::NativeEviction* current() const;
  /// Somebody beside us still wants the pod gone.
  bool others_remain() const;
};

/// Names of the reads.
inline constexpr std::string_view kApiDocument = "api";
inline constexpr std::string_view kRequestDocument = "request";
inline constexpr std::string_view kEvictionsDocument = "evictions";
/// Without a label selector: an Eviction gets its labels some time after it is made.
inline constexpr std::string_view kAllEvictionsDocument = "all evictions";

/// What the evictor must be allowed to do, each asked by a SelfSubjectAccessReview. Only a clear no counts: without an
/// answer the call itself will tell.
struct Access {
  std::string_view verb;
  std::string_view resource;
};
inline constexpr std::array<Access, 4> kAccess = {{{"create", "evictionrequests"},
                                                   {"patch", "evictionrequests"},
                                                   {"delete", "evictionrequests"},
                                                   {"list", "evictions"}}};
/// Name of the read: "may create evictionrequests".
std::string access_name(const Access& access);
Read access_read(const Access& access, const std::string& ns);

RequestState read_view(const EvictorContext& context);

/// Keys in status.refs: what the attempt made and follows, as "<name>/<uid>"; how its withdrawal was found to end.
inline constexpr std::string_view kRequestRef = "evictionRequest";
inline constexpr std::string_view kEvictionRef = "eviction";
inline constexpr std::string_view kOthersRef = "otherRequesters";
std::string ref_of(const api::ObjectMeta& meta);
/// The part after the slash; empty: there is none.
std::string_view uid_of_ref(std::string_view ref);

/// Why nothing will come of the request any more, though the pod is still there; nullopt: it may.
std::optional<RemoteFailure> failure_of(const RequestState& view, std::string_view followed_uid);

}  // namespace evictors::native
