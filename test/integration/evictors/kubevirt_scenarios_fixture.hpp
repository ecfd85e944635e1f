#pragma once

#include "test/integration/rig/kubevirt_stage.hpp"

namespace kubevirt_scenarios_fixture {

using api::Json;
using base::seconds;
using integration::KubeVirtStage;
using integration::once;
using integration::with;
using Phase = api::EvacuationPhase;

class KubeVirtScenario : public KubeVirtStage {};

}  // namespace kubevirt_scenarios_fixture
