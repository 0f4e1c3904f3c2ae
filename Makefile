# memfs. `make help` lists the targets.

GO            ?= go
GOLANGCI_LINT ?= $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
PYTHON        ?= python3
VERSION       ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# A directory with an independent server of the same API (fakestore.py), for
# make conformance.
CASES ?= ../shared/cases

.DEFAULT_GOAL := help
.PHONY: help build test demo bench crash soak fuzz lint notice ci ci-quick conformance clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## ./memfs, a static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o memfs ./cmd/memfs

test: ## every test, with the race detector
	$(GO) test -race -timeout 20m ./...

demo: build ## an agent's session through the real worker, with no key: about 20 lines
	@./memfs rehearse integration/demo.yaml --log-level error

BENCH ?=
bench: build ## memfs beside ext4, the official SDK and rclone: one table, about a quarter of an hour; BENCH has flags ("-h" lists them)
	$(GO) run ./integration/bench -memfs ./memfs $(BENCH)

ROUNDS ?= 1000
crash: ## kill memfs at random, ROUNDS (1000) times, and compare what is left
	$(GO) test -count=1 -timeout 4h -v -run KillLoop ./integration/crash -crash.rounds $(ROUNDS)

SOAK ?= 10m
SEED ?= 0
soak: ## eight mounts in bad weather for SOAK (10m), compared all the time; SEED repeats the choices
	$(GO) test -count=1 -timeout 0 -v -run TestSoak ./integration/soak -soak.for $(SOAK) -soak.seed $(SEED)

FUZZTIME  ?= 30s
FUZZ      ?= Fuzz[A-Za-z]+
FUZZFLAGS ?=
fuzz: ## every fuzz target for FUZZTIME (30s) each; FUZZ is a pattern of their names
	@GO="$(GO)" .ci/fuzz '$(FUZZ)' $(FUZZTIME) $(FUZZFLAGS)

lint: ## gofmt, go vet and the linters of .golangci.yml
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "not gofmt-ed:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	$(GOLANGCI_LINT) run ./...

notice: ## write NOTICE anew from the licences of what the binary contains
	GO="$(GO)" .ci/notice > NOTICE.new && mv NOTICE.new NOTICE

conformance: ## the API suite against the independent server in CASES
	MEMFS_FAKESTORE=$(abspath $(CASES))/fakestore.py PYTHON=$(PYTHON) $(GO) test -count=1 ./integration/conformance

ci: ## what the build machine runs
	.ci/run

ci-quick: ## the same without its ten minutes of soak and fuzzing
	.ci/run quick

clean: ## remove what build made
	rm -f memfs
