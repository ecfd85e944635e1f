# Evacuator's workshop. `make help` lists what there is.
SHELL  := /bin/bash
PRESET ?= release
BUILD  := build/$(PRESET)
JOBS   ?= $(shell nproc)
BIN    := $(BUILD)/cmd/evacuator
IMAGE  ?= evacuator:0.1.0
ARCH   ?= $(shell dpkg --print-architecture)
# Cross compilers, when the image is not for this machine.
IMAGE_SETS = $(if $(filter-out $(shell dpkg --print-architecture),$(ARCH)),image-$(ARCH))
RELEASE_ARCHS ?= amd64 arm64
FIRST  ?= 1
SEEDS  ?= 1000
SANITIZE ?= all

PREFIX ?= /usr/local
OUT    ?= out/release
CHART  := $(OUT)/evacuator-$(shell sed -n 's/^version: //p' config/chart/Chart.yaml).tgz

.PHONY: help setup build install test demo run e2e upgrade-test cluster-up cluster-down verify format format-check layers lint bench soak fuzz sanitize bare-root proof viewer generate chart image verify-image release clean

help: ## Show this help
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  \033[1m%-13s\033[0m %s\n",$$1,$$2}' $(MAKEFILE_LIST)

setup: ## Install what is missing from Debian's packages
	@hack/setup.sh build

build: setup ## Build evacuator and kubectl-evacuator (PRESET=release|package|debug|asan-ubsan|tsan)
	@cmake --preset $(PRESET) >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build $(BUILD) --parallel $(JOBS) --target evacuator kubectl-evacuator evacuator-demo

install: build ## Copy both to $(PREFIX)/bin, where kubectl finds its plugin (PREFIX=/usr/local, DESTDIR)
	@install -d $(DESTDIR)$(PREFIX)/bin
	@install $(BIN) $(BUILD)/cmd/kubectl-evacuator $(BUILD)/cmd/evacuator-demo hack/kubectl_complete-evacuator $(DESTDIR)$(PREFIX)/bin

test: setup ## Build everything and run the unit and integration tests (no cluster needed)
	@cmake --preset $(PRESET) >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build $(BUILD) --parallel $(JOBS)
	@ctest --test-dir $(BUILD) --parallel $(JOBS) --output-on-failure

demo: build ## Watch the operator move pods on the built-in cluster
	@$(BUILD)/cmd/evacuator-demo $(DEMO_FLAGS)

run: build ## Run the operator against the current kubeconfig context
	@$(BIN) run --leader-elect=false $(RUN_FLAGS)

e2e: ## The end-to-end scenarios on the simulator and on a real Kubernetes
	@hack/setup.sh build e2e
	@hack/e2e.sh

upgrade-test: ## From an earlier commit's program to today's and back, with Evacuations under way (simulator and real Kubernetes)
	@hack/setup.sh build e2e
	@hack/upgrade/test.sh

cluster-up: ## Start a real Kubernetes on loopback (etcd, API server, controllers, scheduler, hollow kubelets)
	@hack/cluster/up.sh

cluster-down: ## Stop it and remove its state
	@hack/cluster/down.sh

verify: ## Everything a review would catch: format, layers, lint, generated files, manifests
	@hack/setup.sh build verify
	@hack/verify.sh

format: ## Format the C++ sources
	@hack/setup.sh verify
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 -i

format-check:
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 --dry-run --Werror

layers: ## Check the include rules of hack/layers.txt
	@hack/verify-layers.sh

lint: ## clang-tidy over the sources changed since LINT_BASE=HEAD~1, or over all (LINT=all)
	@hack/lint.sh $(LINT)

bench: ## Benchmarks, as ratios against baselines of the same run
	@hack/setup.sh build bench
	@hack/bench.sh

soak: setup ## Random worlds under random misfortune (FIRST=seed SEEDS=how many SOAK_FLAGS=--verbose)
	@cmake --preset $(PRESET) >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build $(BUILD) --parallel $(JOBS) --target test_soak
	@$(BUILD)/test/soak/test_soak --first $(FIRST) --seeds $(SEEDS) $(SOAK_FLAGS)

fuzz: ## Build every fuzzer and run each for a while (SECONDS_EACH=30)
	@hack/setup.sh build fuzz
	@hack/fuzz.sh $(SECONDS_EACH)

sanitize: ## All tests under ThreadSanitizer, AddressSanitizer and UndefinedBehaviorSanitizer (SANITIZE=gate: what the gate runs; SANITIZE="controllers soak")
	@hack/setup.sh build fuzz
	@hack/sanitize.sh $(SANITIZE)

bare-root: ## make demo, then make test, in a bare Debian 12 root file system (needs root)
	@hack/setup.sh bare-root
	@hack/bare-root.sh

proof: bare-root ## What takes longer than the gate may: the bare root, clang-tidy over all sources, a thousand soak seeds, days of load, upgrades, the arm64 image
	@hack/setup.sh verify proof
	@hack/lint.sh all
	@$(MAKE) soak SEEDS=1000
	@cmake --build $(BUILD) --parallel $(JOBS) --target load_proof
	@for seed in 1 2 3; do $(BUILD)/test/scenarios/load_proof --nodes 100 --days 2 --seed $$seed --check || exit 1; done
	@$(BUILD)/test/scenarios/load_proof --nodes 100 --days 3 --seed 1 --check
	@$(BUILD)/test/scenarios/load_proof --nodes 100 --days 2 --seed 1 --by-chance --check
	@$(BUILD)/test/scenarios/load_proof --nodes 1000 --days 2 --seed 1 --check
	@$(BUILD)/test/scenarios/load_proof --seeds 1000
	@cmake --build $(BUILD) --parallel $(JOBS) --target frag_proof evacuator
	@$(BUILD)/test/scenarios/frag_proof --check --nodes 10 20 200 1000
	@$(BUILD)/test/scenarios/frag_proof --check --nodes 12 --seeds 2 --exact 60
	@$(BUILD)/test/scenarios/frag_proof --check --adverse --nodes 12 60 --seeds 1 --exact 60
	@test/scenarios/fragmentation/compare.py --check --rules-only --maker test/scenarios/fragmentation/mixtures/maker.py \
	  --kinds tainted_pools,zonal_databases,host_ports,nearly_full,mixed_affinity --sizes 12,60 --evacuator $(BUILD)/cmd/evacuator
	@if [[ -n "$$FRAGMENTATION_MAKER" ]]; then \
	  test/scenarios/fragmentation/compare.py --check --evacuator $(BUILD)/cmd/evacuator; \
	else echo "proof: FRAGMENTATION_MAKER names no maker of clusters: test/scenarios/fragmentation/compare.py did not run"; fi
	@cmake --build $(BUILD) --parallel $(JOBS) --target test_fragmentation
	@$(BUILD)/test/scenarios/test_fragmentation --gtest_also_run_disabled_tests --gtest_filter='*SlowKinds/Advice*'
	@$(MAKE) upgrade-test
	@REBUILD=1 $(MAKE) verify-image ARCH=amd64
	@$(MAKE) verify-image ARCH=arm64

viewer: ## Test the viewer of reports and write its bundle dashboard/dist (needs npm)
	@cd dashboard && npm ci --ignore-scripts && npm run check && npm test && npm run build

generate: ## Write crds/legacy and docs/reference from crds/
	@hack/generate.sh

chart: ## Pack the Helm chart into out/release (OUT=folder)
	@mkdir -p $(OUT)
	@tar --create --directory config --dereference --transform 's,^chart,evacuator,' --exclude kustomization.yaml --exclude Kustomization \
	  --exclude .gitkeep --sort name --mtime @0 --owner 0 --group 0 --numeric-owner --mode u=rwX,go=rX chart | gzip -9n >$(CHART)
	@echo $(CHART)

image: ## Assemble the container image as an OCI archive in out/image, without a daemon (ARCH=amd64|arm64, IMAGE_KEY=file)
	@hack/setup.sh build image $(IMAGE_SETS)
	@IMAGE=$(IMAGE) hack/image.sh $(ARCH)

verify-image: ## Make a release, build its image again, check it, and run the programs inside (ARCH=amd64|arm64)
	@hack/setup.sh build image $(IMAGE_SETS)
	@hack/verify-image.sh $(ARCH)

release: ## Images, manifests, chart and checksums in out/release (IMAGE=name:tag to push, IMAGE_KEY=file, RELEASE_ARCHS)
	@hack/setup.sh build image $(if $(filter arm64,$(RELEASE_ARCHS)),image-arm64)
	@IMAGE=$(IMAGE) hack/image/release.sh $(RELEASE_ARCHS)

clean: ## Remove build results
	@rm -rf build out
