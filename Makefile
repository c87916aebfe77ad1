# Lapidary's front door. Every target installs and builds what it needs first, and is quick when nothing changed.
.PHONY: help run test test-real test-browsers test-packages build docs bench fuzz lint format setup debian clean

SHELL := /bin/bash
# Where tools/setup puts Node.js when the one that is here is too old.
export PATH := $(CURDIR)/.cache/node/node_modules/.bin:$(PATH)
.SHELLFLAGS := -o pipefail -ec

# $(call build,PRESET,TARGET), silent when there is nothing to do.
build = cmake --build --preset $(1) --target $(2) | { grep -v -e 'Re-checking globbed' -e 'no work to do' || true; }
# What everybody downloads, and the same engine with everything in it.
MODULES = lapidary lapidary-workshop cpu-base cpu-relaxed
BUILTIN = storyteller-q4_k_m.gguf

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile | expand -t 24

run: build ## the web app, and the engine for other programs, at http://127.0.0.1:8484
	@bin/lapidary serve

test: build/asan/CMakeCache.txt ## every test, native and WebAssembly
	@tools/test  # which makes `build` beside the first tests

test-packages: build ## the library as npm packs it, in projects of Vite, webpack, esbuild, Next.js, Node, TypeScript
	@tools/test-packages

test-real: build ## the engine on the weights of Gemma 3 270M, which pip fetches once; LAPIDARY_THOROUGH=1 for all of it
	@tools/test-real

test-browsers: build ## the app in Firefox, WebKitGTK and Chromium, and every kernel in Firefox
	@tools/test-browsers

build: setup build/wasm/CMakeCache.txt ## the engine as WebAssembly, the command line bin/lapidary, and the web app
	@$(call build,wasm,$(MODULES))
	@npx tsc -b
	@node tools/bundle-codecs.mjs
	@for module in $(MODULES); do \
	    cmp -s build/wasm/engine/$$module.wasm packages/lapidary/dist/$$module.wasm || \
	    cp build/wasm/engine/$$module.wasm packages/lapidary/dist/; done
	@cmp -s models/$(BUILTIN) packages/lapidary/dist/$(BUILTIN) || cp models/$(BUILTIN) packages/lapidary/dist/
	@tools/build-web

docs: setup build/native/CMakeCache.txt ## what is written from the code: docs/kernels.md, docs/messages.md and the library's types
	@$(call build,native,api_schema)
	@tools/check-messages build/native/api_schema --write
	@tools/check-docs --write

bench: build ## speed of the tokenizer, of the CPU backend and of the first word in a page
	@node tools/bench.mjs

fuzz: setup build/fuzz/CMakeCache.txt ## fuzz the parsers for FUZZ_SECONDS (60) each, or FUZZ_RUNS inputs
	@$(call build,fuzz,fuzzers)
	@npx tsc -b
	@tools/fuzz

lint: setup build/asan/CMakeCache.txt ## clang-tidy over the engine
	@tools/lint

format: setup ## clang-format over the engine
	@tools/format

setup: ## install Debian and npm packages
	@tools/setup

debian:
	@tools/setup --debian

build/%/CMakeCache.txt: CMakePresets.json | debian
	@cmake --preset $* >/dev/null
	@touch $@

clean: ## remove everything that was built
	rm -rf build packages/*/dist apps/*/dist apps/*/out
