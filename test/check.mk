# SPDX-License-Identifier: MIT
# Checks: tiers of suites (test/run), sanitizers, hunts, roots.
#
#   T="fleet rollout"   suites whose names contain these, of any tier; =NAME: exactly that one
#   ALL=1               suites that have passed and whose inputs have not changed, too
RUN_TESTS = test/run -b $(B) $(if $(ALL),-a)

.PHONY: setup check check-all check-san check-soak check-flaky check-stops
setup:
	@test/setup.sh build

## check: check           build, and the quick suites: those that failed, changed or are new
## check: check T="fleet"  suites of these names, of any tier
check:
	@test/setup.sh build check $(if $(T),full)
	@$(AGAIN) lib policies $(if $(T),tests-full,tests)
	@$(RUN_TESTS) $(T)

## check: check-all       all suites
check-all:
	@test/setup.sh build check full
	@$(AGAIN) lib policies tests-full
	@$(RUN_TESTS) -t full

## check: check-san       quick unit tests, fuzz corpus and agents by ASan and UBSan; threads by TSan
# TIER=full: all unit tests. A process that a signal ends while it looks for leaks may never
# end, so jobs do not look for them.
check-san: TSAN := $(addprefix unit-,gen exit live jit_inline segment fence fence_calls \
	fence_faults tuner tuner_changes tuner_explain tuner_ranks map map_model map_rules trace \
	net net_calls gin gin_calls gin_hooks gin_threads loop loop_faults profiler \
	profiler_connect profiler_threads spans) verbs_tap
check-san: FLEET := $(addprefix =fleet_,again damage refused)
check-san:
	@test/setup.sh build check $(filter full,$(TIER))
	@$(AGAIN) VARIANT=asan B=build/asan $(if $(filter full,$(TIER)),unit-tests,unit-quick) \
		policies tap-tests lib build/asan/test/nursery \
		build/asan/test/fakes/host/standin build/asan/test/integration/control/host \
		$(patsubst $(B)/%,build/asan/%,$(CORPUS))
	@$(AGAIN) VARIANT=tsan B=build/tsan policies tap-tests build/tsan/test/nursery unit-fakes \
		$(patsubst unit-%,build/tsan/test/unit/test_%,$(filter unit-%,$(TSAN)))
	@LIMIT=1800 test/run -b build/asan -t $(or $(TIER),quick) unit- fuzz- =verbs_tap \
		'!unit-verify_domains'; asan=$$?; \
	LIMIT=1800 ASAN_OPTIONS=detect_leaks=0 test/run -b build/asan $(FLEET); fleet=$$?; \
	LIMIT=1800 test/run -b build/tsan $(TSAN:%==%); [ $$asan$$fleet$$? = 000 ]

## check: check-nccls     suites with other versions of NCCL, and RCCL, of Debian: VERSIONS="2.29.7"
.PHONY: check-nccls
check-nccls:
	@test/setup.sh build check
	@$(AGAIN) lib policies tests tests-full
	@test/nccls/check.py $(B) $(VERSIONS)

## check: check-gpu       all that wants a real GPU, in 8 minutes: gpu, gpu_more, gpu_torch, bench-gpu
.PHONY: check-gpu
check-gpu:
	@[ ! -c /dev/nvidia0 ] || $(RELEASE_OF) lib policies hosts $(RELEASE)/test/nursery >/dev/null
	@test/gpu.sh $(RELEASE)

## check: check-flaky     make check RUNS times beside LOAD busy processes: RUNS=10 LOAD=4 TIER=quick
check-flaky:
	@test/setup.sh build check full
	@$(AGAIN) lib policies tests-full
	@test/flaky.sh $(B) $(or $(TIER),quick) $(or $(RUNS),10) $(or $(LOAD),4)

## check: check-stops     make check stopped as by Ctrl-C RUNS times: nothing of it may be left
check-stops:
	@test/setup.sh build check
	@$(AGAIN) lib policies tests
	@test/stops.sh $(B) $(or $(RUNS),10)

## check: check-mutants   what is promised, broken line by line: make check must notice. T="fence net"
.PHONY: check-mutants
check-mutants:
	@test/setup.sh build check
	@$(AGAIN) lib policies tests
	@test/mutants/run.py $(B) $(T)

## check: golden          record the words of refusals and errors anew, show what changed: T="tables sweep"
.PHONY: golden
golden: $(B)/test/unit/test_verify_golden $(CORPUS)
	@GOLDEN=record TOP=$(CURDIR) B=$(B) $< >/dev/null || GOLDEN=record TOP=$(CURDIR) B=$(B) $<
	@$(AGAIN) lib policies tests-full
	@GOLDEN=record test/run -b $(B) $(or $(T),$(patsubst %,=%,$(notdir $(wildcard test/corpus/golden/messages/*))))
	@git --no-pager diff --stat -- test/corpus/golden
	@git status --short -- test/corpus/golden

## check: check-soak      longer hunts with new seeds: SECONDS=600
check-soak:
	@test/setup.sh build check
	@$(AGAIN) all
	@ORACLE_SEED=$$(date +%s) ORACLE_SECONDS=$(or $(SECONDS),600) LIMIT=7200 \
		test/run -b $(B) oracle
	@$(AGAIN) embed replicated
	@$(AGAIN) worst
	@$(AGAIN) mutants MUTANT_KINDS="refuse label weigh lax"
	@PROOFS=all PROOF_SECONDS=600 LIMIT=7200 test/run -b $(B) proof
	@TABLES=20000 TABLE_SEED=$$(date +%s) LIMIT=7200 test/run -b $(B) =table_rows
	@DOMAIN_MORE=$(or $(DOMAIN_MORE),20) CK_FORK=no $(B)/test/unit/test_verify_domains
	@$(AGAIN) agree ARM64_PROGRAMS=200000 PROGRAMS=3000000
	@AGREEMENT_SEED=$$(date +%s%N) LIMIT=7200 test/run -b $(B) unit-agreement arm64
	@SEED=$$(date +%s) SEQUENCES=20000 LIMIT=7200 \
		test/run -b $(B) map_kernel ring_kernel
	@ROUNDS=60 COMMS=6000 MOVED=100 LIMIT=7200 test/run -b $(B) =host_reload_abis
	@FENCE_SECONDS=60 LIMIT=7200 test/run -b $(B) =unit-fence
	@ELEMENTS=100000 test/run -b $(B) shell_batch
	@LONG=1 TIMES=200 LIMIT=1800 test/run -b $(B) =gin_real
	@JUDGE_SEED=$$(date +%s) JUDGE_RUNS=$(or $(JUDGE_RUNS),50000) LUA_LIMIT=3600 \
		LIMIT=7200 test/run -b $(B) =judge
	@MODEL_SECONDS=$(or $(SECONDS),600) LIMIT=7200 test/run -b $(B) model
	@$(AGAIN) soak-faults soak-events
	@$(AGAIN) check-san TIER=full
	@$(AGAIN) lint-tidy TIDY_NODES=225000
	@$(AGAIN) check-mutants

# Interpreter and machine code on PROGRAMS new random programs, on both targets.
## check: agree           random programs by both engines, x86-64 and arm64: PROGRAMS=1000000
.PHONY: agree
agree:
	@test/setup.sh build check
	@$(AGAIN) unit-tests $(if $(shell command -v $(ARM64_CC)),arm64-tests) >/dev/null
	@test/differential/agree.sh $(B) $(or $(PROGRAMS),1000000)

# A million events a second for SECONDS: memory bounded, all that is lost counted.
## check: soak-events     a million profiler events a second: SECONDS=600
.PHONY: soak-events
soak-events:
	@$(RELEASE_OF) $(RELEASE)/test/unit/test_event_soak >/dev/null
	@EVENT_SOAK=$(or $(SECONDS),600) CK_FORK=no $(RELEASE)/test/unit/test_event_soak

# FAULTS faults on a job of three sites, 33 a second, with a new seed.
## check: soak-fleet      a job of several hosts: agents and etcd killed
.PHONY: soak-fleet bench-fleet
FAULTS ?= 10000
soak-fleet: lib policies hosts
	@FAULTS=$(FAULTS) FAULT_SECONDS=$$(($(FAULTS) / 33)) FLEET_SEED=$$(date +%s) LIMIT=20000 \
		test/run -b $(B) =fleet_faults; \
	grep '^#' $(B)/test/log/fleet_faults.log

# A change of SITES sites with RANKS ranks each, over three etcd members.
bench-fleet:
	@$(RELEASE_OF) lib policies hosts >/dev/null
	@test/bench/fleet.sh $(RELEASE)

# Processes killed and stopped at each step of the fence protocol: SECONDS long.
## check: soak-faults     processes killed at each step of the fence protocol: SECONDS=600
.PHONY: soak-faults
soak-faults: $(B)/test/unit/test_fence_faults
	@end=$$(($$(date +%s) + $(or $(SECONDS),600))); : >$(B)/faults.all; \
	while [ $$(date +%s) -lt $$end ]; do \
		$< >$(B)/faults.out 2>&1 || { cat $(B)/faults.out; exit 1; }; \
		cat $(B)/faults.out >>$(B)/faults.all; \
	done; \
	awk '/ commits, / { f += $$2 != "no"; for (i = 3; i < NF; i++) { \
			if ($$(i + 1) == "commits,") c += $$i; \
			if ($$(i + 1) == "aborts,") a += $$i; \
			if ($$(i + 1) == "steps") s += $$i } } \
		END { printf "faults: %d, changes committed: %d, aborted: %d, ", f, c, a; \
			printf "steps held against the rules: %d, broken: 0\n", s }' \
		$(B)/faults.all

# State embedding of PROGRAMS random programs, those of SEED and after.
## check: embed           random programs, run inside the verifier's states: PROGRAMS=1000000 SEED=n
.PHONY: embed
embed: setup
	@$(RELEASE_OF) $(RELEASE)/test/unit/test_verify_embedding >/dev/null
	@EMBED_SEED=$(or $(SEED),$(shell date +%s)000000) EMBED_RUNS=$(or $(PROGRAMS),1000000) \
		CK_FORK=no $(RELEASE)/test/unit/test_verify_embedding

# The same with small budgets: two ranks agree whatever local data spends.
## check: embed-small     the same with budgets that runs use up
.PHONY: embed-small
embed-small: setup
	@$(RELEASE_OF) $(RELEASE)/test/unit/test_verify_embedding_small >/dev/null
	@EMBED_SEED=$(or $(SEED),$(shell date +%s)000000) EMBED_RUNS=$(or $(PROGRAMS),1000000) \
		CK_FORK=no $(RELEASE)/test/unit/test_verify_embedding_small

# Ranks compared under PROGRAMS random programs with replicated maps.
## check: replicated      random programs with replicated maps, ranks compared: PROGRAMS=1000000 SEED=n
.PHONY: replicated
replicated: setup
	@$(RELEASE_OF) $(RELEASE)/test/unit/test_replicated >/dev/null
	@REPLICATED_SEED=$(or $(SEED),$(shell date +%s)000000) \
		REPLICATED_PROGRAMS=$(or $(PROGRAMS),1000000) \
		CK_FORK=no $(RELEASE)/test/unit/test_replicated

# All that is known of numbers of 4 to 8 bits, against brute force.
## check: domains         the verifier's numbers at 4 to 8 bits, all of them
.PHONY: domains
DOMAIN_TESTS = $(patsubst %,$(RELEASE)/test/unit/test_verify_domains_%,4 5 6 7 8)
domains: setup
	@$(RELEASE_OF) $(DOMAIN_TESTS) >/dev/null
	@test/unit/domains.sh $(RELEASE) $(JOBS) $(WIDTHS)

# libFuzzer, with clang; what it finds stays in build/fuzz/found.
## check: fuzz            libFuzzer on each target: SECONDS=120 or RUNS=n, TARGETS="verify embed"
.PHONY: fuzz
fuzz:
	@test/setup.sh build check fuzz
	@$(AGAIN) VARIANT=fuzz CC=$(CLANG) B=build/fuzz WERROR= \
		$(or $(TARGETS:%=build/fuzz/test/fuzz/fuzz_%),$(FUZZ:$(B)/%=build/fuzz/%)) \
		>/dev/null
	@test/fuzz/fuzz.sh build/fuzz \
		$(if $(RUNS),-runs=$(RUNS),-max_total_time=$(or $(SECONDS),120)) $(TARGETS)

# The hooks' counts beside the kernel's; a guest that does not come up is a failure.
## check: check-rdma      the same as demo-rdma, in a virtual machine with SoftRoCE
.PHONY: check-rdma
check-rdma:
	@test/setup.sh build check full vm
	@$(RELEASE_OF) lib hosts verbs-ring $(RELEASE)/test/nursery
	@DEMO_VM=yes test/run -b $(RELEASE) =demo_rdma

# Both README commands in an empty Debian 12 (root, mmdebstrap).
## check: check-fresh     the README's commands in an empty Debian 12 (root)
check-fresh:
	@test/packaging/fresh.sh $(CURDIR)/build/fresh

# Part of check-packages.
## check: check-glibc     the plugin, built there and as a package, called in a Debian 11 (root)
.PHONY: check-glibc
ANSWERS = $(patsubst %.bpf.c,$(RELEASE)/%.policy,$(wildcard test/corpus/answers/*.bpf.c))
OLD_GLIBC = test/packaging/old_glibc.sh $(CURDIR)/build/root build/packages \
	$(RELEASE)/test/corpus/answers
check-glibc: deb
	@$(RELEASE_OF) $(ANSWERS) >/dev/null
	@$(OLD_GLIBC)

# The plugin cross-compiled for arm64: NCCL's stand-in calls every interface of it
# under qemu-user.
## check: check-arm64     the plugin cross-compiled for arm64, called under qemu-user
.PHONY: check-arm64
ARM64 := build/arm64
check-arm64:
	@test/setup.sh build check
	@$(RELEASE_OF) $(ANSWERS) >/dev/null
	@$(AGAIN) VARIANT=release B=$(ARM64) CC=aarch64-linux-gnu-gcc $(ARM64)/libncclbpf.so \
		$(ARM64)/test/fakes/host/abi_check >/dev/null
	@dir=$$(mktemp -d) && NCCLBPF_SOCKET_DIR=$$dir NCCLBPF_JOB=arm64 \
		qemu-aarch64 -L /usr/aarch64-linux-gnu $(ARM64)/test/fakes/host/abi_check \
		$(ARM64)/libncclbpf.so $(RELEASE)/test/corpus/answers >$(ARM64)/abi.log; rc=$$?; \
		rm -rf $$dir; grep '^not ok' $(ARM64)/abi.log && rc=1; \
		size=$$(aarch64-linux-gnu-strip -o $(ARM64)/stripped.so $(ARM64)/libncclbpf.so && \
			wc -c <$(ARM64)/stripped.so); \
		[ $$size -le 1048576 ] || \
			{ echo "the stripped plugin has $$size bytes, over 1 MiB"; rc=1; }; \
		echo "check-arm64: $$(grep -c '^ok' $(ARM64)/abi.log) checks pass"; exit $$rc

