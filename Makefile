# The few commands of this project; `make help` lists them.
.PHONY: help run build sdk check lint test test-browsers mutate vulnerabilities bench bench-sdk bench-peers prove needs release screenshots fuzz fuzz-api figures clients

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build everything, start it, show a sale being attributed
	bin/tributary dev

build: sdk ## bin/tributary, with the SDK's files inside
	go build -o bin/tributary ./cmd/tributary

sdk: # the browser SDK: WASM core, wrapper, types; esbuild is a Go package, so no Node
	go run ./sdk-js/build

check: ## format, vet, lint and unit tests, in under a minute
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	@$(MAKE) --no-print-directory lint
	CI= go test -short ./...

lint: # which linters, and every exception with its reason: .golangci.yml
	go tool -modfile=.ci/golangci-lint.mod golangci-lint run --build-tags browsers ./...
	go -C .ci/release tool -modfile=../golangci-lint.mod golangci-lint run ./... # a module of its own, as the next
	@go -C .ci/peers vet .
	@go -C .ci/webhooks vet .
	@go -C sdk/adminapi vet .

test: needs sdk ## everything: race detector, real browser, real Kafka, real PostgreSQL
	@.ci/test

test-browsers: sdk ## the SDK in Firefox, WebKitGTK, Deno and Bun, in shops made with React, Vue and Next.js; Segment's libraries (Debian; about 15 minutes)
	@.ci/browsers

mutate: ## mutants of the pure packages that no test kills; fails under 97 % killed or 95 % covered (PKG=internal/facts: one)
	@go run ./test/mutate $(PKG)

vulnerabilities: # known ones that our code can reach
	@.ci/vulnerabilities

bench: ## the benchmarks; each states its baseline beside it
	go test -run '^$$' -bench . -benchmem ./...
	go run ./test/bench/edge
	go run ./test/bench/edge -attacks -runs 3
	go run ./test/bench/processor

bench-sdk: ## what the browser SDK costs, beside its budgets and others' packages (needs npm)
	go run ./test/bench/sdk

bench-peers: ## what the Go SDK costs, beside Segment's and PostHog's
	go -C .ci/peers run .

prove: ## real Kafka and services broken in every way, checked by a linearizability checker; writes docs/proof.md (about an hour)
	go run ./test/prove/cmd

release: ## dist/: programs, packages, images and sums of what is committed, then installed and run (root on Debian; about 20 minutes)
	@.ci/make-release

fuzz-api: build ## schemathesis against the admin API, all checks, about two minutes (needs Python)
	@.ci/fuzz-api

fuzz: ## every fuzz target for a time (FUZZ_TIME=30s each; PKG=./edge: one package's)
	@FUZZ_TIME="$(FUZZ_TIME)" PKG="$(PKG)" .ci/fuzz

needs:
	@.ci/needs

clients: # the published clients of the admin API, made anew from its OpenAPI document (needs npm)
	@.ci/make-clients

figures: ## how large the house is, beside what it should be at most
	@go run ./test/house/figures

screenshots: sdk ## docs/img: the pages that the README shows, taken in a real browser
	TRIBUTARY_SHOTS=$(CURDIR)/docs/img go test -count=1 -run TestTheReadmesPictures ./test/e2e
