#include "controllers/evacuation/spec_problems.hpp"

namespace controllers {

api::FieldErrors problems_of(const api::EvacuationSpec& spec, const evictors::EvictorRegistry& registry) {
  api::FieldErrors errors = api::validate(spec, registry.names());
  api::append_new_fields(errors, registry.validate(spec.evictors, api::FieldPath("spec.evictors")));
  return errors;
}

}  // namespace controllers
