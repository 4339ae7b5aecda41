# Needs Go and, for the tests, Python 3.8 or later; nothing else. `make help` lists what there is.

GO = go
# How many inputs each fuzz target is given. A count, for a time ends some runs of Go's fuzzer
# with "context deadline exceeded" where nothing is wrong (go.dev/issue/75804).
FUZZTIME = 50000x
# More flags for `go test`.
TESTFLAGS =
# More flags for the benchmarks' own programs, such as "-row 1 -reps 9" or "-only sqlite".
BENCHFLAGS =

TOOL = $(GO) tool -modfile=tools/go.mod
# An error that is dropped on purpose is fine in tests and in the suites they share.
ERRCHECKED = $$($(GO) list ./... | grep -v /workertest)

.POSIX:
.PHONY: all build test race lint lint-proof fuzz bench bench-dispatch regret regret-quick cross clean help

all: build

build: ## build bin/poolwise
	@version=$$(git describe --tags --always --dirty 2>/dev/null || echo unknown); \
	$(GO) build -trimpath -ldflags "-X github.com/poolwise/poolwise/internal/cli.version=$$version" -o bin/ ./cmd/poolwise

test: ## run all tests, those of the Python worker included
	$(GO) test $(TESTFLAGS) ./...
	cd benchmarks && $(GO) test $(TESTFLAGS) ./...

race: ## run the tests with the race detector (needs a C compiler)
	$(GO) test -race $(TESTFLAGS) ./...

lint: ## check formatting, imports between rooms, and faults
	@echo gofmt; unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do test -f "$$f" && echo "$$f"; done)); \
	test -z "$$unformatted" || { echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	cd benchmarks && $(GO) vet ./... && $(GO) tool -modfile=../tools/go.mod staticcheck ./...
	$(TOOL) depguard ./...
	$(TOOL) staticcheck ./...
	$(TOOL) go-errorlint -errorf -comparison=false -asserts=false ./...
	$(TOOL) revive -config revive.toml ./...
	$(TOOL) errcheck -ignoretests -exclude tools/errcheck.txt $(ERRCHECKED)

lint-proof: ## prove that forbidden imports turn lint red
	sh tools/lint-proof.sh

fuzz: ## give each fuzz target FUZZTIME inputs
	@for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for target in $$($(GO) test -list '^Fuzz' $$dir | grep '^Fuzz'); do \
			echo "$$dir $$target: $(FUZZTIME)"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$dir || exit 1; \
		done; \
	done

bench: ## run the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-dispatch: ## measure poolwise beside its peers; writes docs/performance.md
	cd benchmarks && $(GO) run . $(BENCHFLAGS)

regret: ## measure how far the chosen plan is from the best, in at most 90 minutes; writes docs/regret.md
	cd benchmarks && $(GO) run ./regret $(BENCHFLAGS)

regret-quick: ## the same over fewer workloads, in at most 8 minutes; prints the page
	cd benchmarks && $(GO) run ./regret -quick $(BENCHFLAGS)

cross: ## build and vet for the systems that this one is not
	@for os in darwin windows linux; do \
		echo "$$os"; \
		CGO_ENABLED=0 GOOS=$$os $(GO) build ./... && CGO_ENABLED=0 GOOS=$$os $(GO) vet ./... || exit 1; \
	done

clean: ## remove what was built and measured
	rm -rf bin benchmarks/.cache

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' Makefile
