# SPDX-License-Identifier: MIT
# One Makefile, not recursive. `make help` lists the targets.
#
#   V=debug release asan tsan cov fuzz   variant, each with its own build/V
#   WERROR=1                             warnings are errors (CI)
#   PREFIX= DESTDIR= LIBDIR=             for make install

V ?= debug
B ?= build/$(V)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := 0.1.0
SOVERSION := 0
CLANG ?= clang
PKG_CONFIG ?= pkg-config
CUDA ?= /usr/local/cuda
# What runs the programs that the build itself needs: an emulator where CC compiles
# for another processor (make deb-arm64).
RUN ?=

OPT.debug   := -Og
OPT.release := -O2 -DNDEBUG -fstack-protector-strong -D_FORTIFY_SOURCE=2
OPT.asan    := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
OPT.tsan    := -O1 -fsanitize=thread
OPT.cov     := -O0 --coverage
OPT.fuzz    := -O1 -fsanitize=fuzzer-no-link,address,undefined
OPT := $(OPT.$(V))
SAN := $(filter -fsanitize=% --coverage,$(OPT))
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Wvla \
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wcast-qual -Wwrite-strings -Wswitch-enum -Wformat=2 \
	-Wimplicit-fallthrough -Wdouble-promotion -Wframe-larger-than=8192

# The libraries of the front end and the shell. The plugin needs none.
LOAD_LIBS = $(shell $(PKG_CONFIG) --libs libbpf libelf)
LUA_CFLAGS = $(shell $(PKG_CONFIG) --cflags lua5.4)
LUA_LIBS = $(shell $(PKG_CONFIG) --libs lua5.4)
JSON_LIBS = $(shell $(PKG_CONFIG) --libs jansson)
# The agent's. The shell and the Lua module open libcurl and libmicrohttpd when they need them.
STORE_LIBS = $(shell $(PKG_CONFIG) --libs libcurl jansson)
SIGN_LIBS = $(shell $(PKG_CONFIG) --libs libsodium)
RELAY_LIBS = $(shell $(PKG_CONFIG) --libs libmicrohttpd gnutls)
EDIT_LIBS = $(shell $(PKG_CONFIG) --libs libedit)
SCREEN_LIBS = $(shell $(PKG_CONFIG) --libs ncursesw)
CHECK_LIBS = $(shell $(PKG_CONFIG) --libs check)

CPPFLAGS += -I. -MMD -MP -DNCCLBPF_VERSION='"$(VERSION)"'
CFLAGS += -std=c11 -D_GNU_SOURCE -g -fPIC -fvisibility=hidden \
	-ffunction-sections -fdata-sections \
	-ffile-prefix-map=$(CURDIR)/= $(WARN) $(OPT) $(if $(WERROR),-Werror)

# The decision path: words put together for one wide store come apart again to
# be used, and that costs more than it saves.
$(B)/plugin/tuner/decide.o $(B)/plugin/abi/%.o: CFLAGS += -fno-tree-slp-vectorize

# The stripped plugin stays under 1 MiB: what answers the shell or words a refusal is
# not hurried. On arm64, segments of 64 KiB leave less room: the JIT and what loads a
# policy are smaller there, and a load takes about a tenth longer.
COLD := core/csvpolicy core/verify/report core/verify/witness \
	plugin/change plugin/control plugin/controller plugin/policies
ifneq ($(filter aarch64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
COLD += core/exec/jit core/image core/isa core/verify/access core/verify/feature core/verify/insn
endif
ifeq ($(V),release)
$(COLD:%=$(B)/%/%.o): CFLAGS += -Os
endif

# Tests run on stacks of their own; sanitizers make frames larger.
$(B)/test/unit/%.o: CFLAGS += -Wframe-larger-than=16384

# Object files of wildcard patterns.
o = $(patsubst %.c,$(B)/%.o,$(wildcard $(1)))

CORE := $(filter-out $(B)/core/load/%,$(call o,core/*.c core/*/*.c core/*/*/*.c))
LOAD := $(call o,core/load/*.c)
# What the agent and the shell have beside it; libncclbpf.so needs libc alone.
STORE := $(call o,plugin/store/*.c)
RELAY := $(call o,plugin/relay/*.c)
SIGN := $(call o,plugin/sign/*.c)
TAP := $(call o,plugin/tap/*.c)
PLUGIN := $(filter-out $(addprefix $(B)/plugin/,store/% relay/% sign/% agent/%) $(TAP),\
	$(call o,plugin/*/*.c plugin/*/*/*.c))
PLUGIN_SO := $(B)/libncclbpf.so
TAP_SO := $(B)/ncclbpf/libncclbpf-verbs.so
LOAD_SO := $(B)/libncclbpf-load.so
SHELL_BIN := $(B)/ncclbpf-shell
LUA_SO := $(B)/lua/ncclbpf.so
POLICIES := $(patsubst %.bpf.c,$(B)/%.policy,$(wildcard policies/*.bpf.c))
CORPUS := $(patsubst %.bpf.c,$(B)/%.bpf.o,$(shell find test/corpus -name '*.bpf.c' 2>/dev/null))
EXAMPLES := $(patsubst %.bpf.c,$(B)/%.bpf.o,$(wildcard examples/*/*.bpf.c)) \
	$(addprefix $(B)/examples/,ring-allreduce/ring_allreduce embed/embed \
	moe-alltoall/moe_alltoall host-signals/host_signals)
UNIT := $(patsubst %.c,$(B)/%,$(wildcard test/unit/test_*.c))
FUZZ := $(patsubst %.c,$(B)/%,$(wildcard test/fuzz/fuzz_*.c))
LUA_FILES := $(wildcard lua/ncclbpf/*.lua lua/ncclbpf/*/*.lua)
CONFORMANCE := $(B)/test/differential/conformance/plugin $(B)/test/differential/conformance/run

.PHONY: all help lib
all: lib policies tests
lib: $(if $(PLUGIN),$(PLUGIN_SO) $(TAP_SO)) $(if $(wildcard core/load/*.c),$(LOAD_SO)) \
	$(if $(wildcard lua/core/*.c),$(LUA_SO)) $(if $(wildcard shell/*.c),$(SHELL_BIN))

help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))

## make demo       an 8-rank job, a policy loaded while it runs (under 3 min)
## make demo-coherence   a reload with and without a fence (under 1 min)
## make demo-ring       a ring AllReduce over the net plugin, each step's latency (seconds)
## make demo-gin       experts' all-to-all by puts; the hot expert is found and paced (under 60 s)
## make demo-rdma      a ring over verbs in a virtual machine with SoftRoCE and 2 % loss (2 min)
## make demo-rollout   a policy is promoted where it is better, a bad one rolled back (under 1 min)
## make demo-closed-loop   channels follow the latency, 2, 12, 2, 12, on all ranks (under 30 s)
## make demo-fleet   a job on three sites and a real etcd; agent and store fail (under 1 min)
## make demo-trace   what of a collective was unseen, and a trace in build/demo-trace (under 20 s)
## make check      build everything and run all tests
## make check-all  the same under ASan, UBSan and TSan, and the fuzz replay
## make golden     record the words of rejections anew, show what changed
## make soak       longer hunts with new seeds: SECONDS=600
## make agree      random programs by both engines, x86-64 and arm64 (qemu): PROGRAMS=1000000
## make domains    the verifier's numbers at 4 to 8 bits, all of them (an hour and more)
## make fuzz       libFuzzer on each target: SECONDS=120 TARGETS="verify embed"
## make soak-fleet     a job of several hosts: agents and etcd killed
## make bench-fleet    how long a change of a job of several hosts takes
## make soak-events  a million profiler events a second, memory and losses checked: SECONDS=600
## make embed      random programs, run inside the verifier's states: PROGRAMS=1000000 SEED=n
## make embed-small   the same with budgets that runs use up, ranks compared
## make check-conformance     bpf_conformance's own runner: RUNNER=path TESTS=dir
## make check-kernel-corpus   verdicts on the kernel's own tests: LINUX=dir
## make bench      what things cost, beside their budgets; DOC=docs/performance.md
## make bench-gpu      what ncclbpf costs two ranks on one real GPU: SIZE=1K ROUNDS=5
## make bench-shell   what people wait for: prompt, completion, verdict, report
## make bench-verify   what a verdict costs, beside the kernel's; DOC=docs/verifier.md
## make bench-weights   what helpers cost, beside what the verifier counts; DOC=docs/verifier.md
## make worst      the programs whose verdict costs most; DOC=docs/verifier.md
## make lint       format, layers, clang-tidy, cppcheck
## make install    PREFIX=/usr/local DESTDIR=; make uninstall takes it away
## make dist deb rpm   the source archive, Debian and RPM packages in build/packages
## make check-packages   lintian, rpmlint; images of the Containerfile on an empty Debian 12
## make deb-arm64   Debian packages for arm64 by cross compilation, in build/packages-arm64
## make check-packages-arm64   lintian; with what they depend on from Debian, used under qemu-user
## make docs-picture   docs/report.png anew, from a browser
## make docs-trace     docs/tracing.svg anew, of what make demo-trace measures
## make check-rdma   the hooks' counts beside the kernel's, in a virtual machine with SoftRoCE
## make check-arm64   the plugin cross-compiled for arm64, called under qemu-user
## make check-glibc   the plugin built and called in a Debian 11 (glibc 2.31); needs root
## make docs, fmt, clean, setup, check-fresh (both commands in an empty Debian 12)

# ---- what is built -------------------------------------------------------

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/lua/%.o $(B)/shell/%.o: CFLAGS += $(LUA_CFLAGS)

# Libraries load with glibc 2.28 and later. libdl and libpthread are empty since
# glibc 2.34; before, they hold what is in libc now.
FLOOR := $(if $(SAN),,-include core/base/glibc_floor.h)
$(B)/core/%.o $(B)/plugin/%.o $(B)/lua/%.o: CPPFLAGS += $(FLOOR)
OLD_LIBC = -Wl,--push-state,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--pop-state

# Symbols: a version script lets NCCL's names out and hides all others.
$(PLUGIN_SO): $(PLUGIN) $(CORE) plugin/ncclbpf.map
	$(CC) -shared $(SAN) $(LDFLAGS) -Wl,--version-script=plugin/ncclbpf.map \
		-Wl,-soname,libncclbpf.so -Wl,-z,relro,-z,now -Wl,--no-undefined \
		-Wl,--gc-sections -o $@ $(filter %.o,$^) $(OLD_LIBC)

# The tap in front of libibverbs. NCCL opens "libibverbs.so", the tap's soname,
# and finds what the tap lacks in libibverbs.so.1, which the tap needs: it is
# linked with an empty library of that name. In a folder of its own, because
# ldconfig would make it everybody's libibverbs.so.
$(TAP_SO): $(TAP) $(B)/plugin/runtime/clock.o plugin/tap/tap.map
	@mkdir -p $(@D) $(B)/plugin/tap/stub
	$(CC) -shared -nostdlib -x c /dev/null -Wl,-soname,libibverbs.so.1 \
		-o $(B)/plugin/tap/stub/libibverbs.so
	$(CC) -shared $(SAN) $(LDFLAGS) -Wl,--version-script=plugin/tap/tap.map \
		-Wl,-soname,libibverbs.so -Wl,-z,relro,-z,now -Wl,--no-undefined \
		-Wl,--gc-sections -o $@ $(filter %.o,$^) -Wl,--no-as-needed \
		-L$(B)/plugin/tap/stub -libverbs -Wl,--as-needed $(OLD_LIBC)
	ln -sf $(@F) $(@D)/libibverbs.so

# The front end as an object of its own: the plugin opens it for .bpf.o files.
$(LOAD_SO): $(LOAD) $(CORE) core/load/load.map
	$(CC) -shared $(SAN) $(LDFLAGS) -Wl,--version-script=core/load/load.map \
		-Wl,-soname,libncclbpf-load.so -Wl,-z,relro,-z,now \
		-Wl,--no-undefined -o $@ $(filter %.o,$^) $(LOAD_LIBS) $(OLD_LIBC)

# A policy is C for the BPF target; its image is made by our own front end.
$(B)/%.bpf.o: %.bpf.c
	@mkdir -p $(@D)
	$(CLANG) -target bpf -mcpu=v3 -O2 -g -I. -Ipolicies -MMD -MP -Wall \
		-fdebug-prefix-map=$(CURDIR)=. \
		-Wno-unknown-attributes -c -o $@ $<

$(B)/%.policy: $(B)/%.bpf.o $(B)/tools/policy_build
	$(RUN) $(B)/tools/policy_build $< $@

# The smallest program over core and load: object in, image out.
$(B)/tools/policy_build: $(B)/core/load/tool/policy_build.o $(LOAD) $(CORE)
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ $(LOAD_LIBS)

.PHONY: policies tests unit-tests
policies: $(POLICIES)
unit-tests: $(UNIT) $(FUZZ)
tests: $(UNIT) $(FUZZ) $(CORPUS) $(EXAMPLES)

# Tests write programs as text (test/unit/asm.h).
ASM := $(B)/test/unit/asm.o
$(B)/test/unit/%: $(B)/test/unit/%.o $(ASM) $(CORE) $(LOAD)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ $(LOAD_LIBS) $(CHECK_LIBS) -lpthread

# Fuzz targets are linked with a driver that replays files; V=fuzz CC=clang
# links libFuzzer instead.
$(B)/test/fuzz/%: $(B)/test/fuzz/%.o $(if $(filter fuzz,$(V)),,$(B)/test/fuzz/replay.o) \
		$(ASM) $(CORE) $(LOAD)
	$(CC) $(patsubst -fsanitize=fuzzer-no-link%,-fsanitize=fuzzer%,$(SAN)) $(LDFLAGS) -o $@ $^ \
		$(LOAD_LIBS) -lpthread

# An example that is a program: NCCL's net or RMA interface and libc.
$(B)/examples/ring-allreduce/ring_allreduce: $(B)/examples/ring-allreduce/ring_allreduce.o
	$(CC) $(SAN) $(LDFLAGS) -o $@ $< -ldl

$(B)/examples/moe-alltoall/moe_alltoall: \
		$(call o,$(addprefix examples/moe-alltoall/moe_,layer.c job.c rma.c))
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -ldl -lpthread

$(B)/examples/host-signals/host_signals: $(B)/examples/host-signals/host_signals.o
	$(CC) $(SAN) $(LDFLAGS) -o $@ $< -lbpf -lelf

# An example that links the core.
$(B)/examples/embed/embed: $(B)/examples/embed/embed.o $(CORE)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^

.SECONDARY:

# Parts with rules of their own; each file says what it adds.
-include $(wildcard core/*/rules.mk lua/rules.mk shell/rules.mk plugin/rules.mk \
	test/*/rules.mk test/*/*/rules.mk)

# What the demo and the benchmarks need beside the libraries.
.PHONY: hosts benches
hosts: $(HOST) $(VGPU_TARGETS) $(VGPU_GIN) $(EXAMPLES)
benches: $(BENCHES)

# ---- checks --------------------------------------------------------------

JOBS := $(shell nproc)
AGAIN = $(MAKE) --no-print-directory -j$(JOBS)

# Set-up comes first and may install compilers, so the rest is a second make
# that looks for its tools again.
.PHONY: setup check check-all check-san soak demo bench bench-verify
.PHONY: lint fmt layers clean check-fresh
setup:
	@test/setup.sh build

check:
	@test/setup.sh build check
	@$(AGAIN) all
	@test/run.sh $(B)

check-all: check check-san

# Unit tests, the fuzz corpus and the agents of jobs of several hosts under ASan and UBSan, unit
# tests under TSan. A process that a signal ends while it looks for leaks may never end, so jobs
# do not look for them.
check-san: TSAN := $(addprefix unit-,gen chain live jit_inline segment fence tuner map trace net \
	gin loop profiler spans) verbs_tap
check-san: FLEET := $(addprefix =fleet_,again damage refused signed)
check-san:
	@test/setup.sh build check
	@$(AGAIN) V=asan B=build/asan unit-tests policies tap-tests lib hosts \
		$(patsubst $(B)/%,build/asan/%,$(CORPUS))
	@$(AGAIN) V=tsan B=build/tsan unit-tests policies tap-tests
	@test/run.sh build/tsan "$(TSAN)" >build/tsan/tests.out 2>&1 & tsan=$$!; \
	NOT=unit-verify_domains BESIDE="unit-v unit-j unit-p unit-s unit-t fuzz-" \
		test/run.sh build/asan "unit- fuzz- verbs_tap"; asan=$$?; \
	ASAN_OPTIONS=detect_leaks=0 test/run.sh build/asan "$(FLEET)"; fleet=$$?; \
	wait $$tsan; tsan=$$?; cat build/tsan/tests.out; [ $$asan$$fleet$$tsan = 000 ]

# Record the words of rejections anew and show what changed.
.PHONY: golden
golden: $(B)/test/unit/test_verify_golden $(CORPUS)
	@GOLDEN=record TOP=$(CURDIR) B=$(B) $< >/dev/null || GOLDEN=record TOP=$(CURDIR) B=$(B) $<
	@git --no-pager diff --stat -- test/corpus/golden/verify
	@git status --short -- test/corpus/golden/verify

# Longer hunts with new seeds: SECONDS each (default 600).
soak:
	@test/setup.sh build check
	@$(AGAIN) all
	@ORACLE_SEED=$$(date +%s) ORACLE_SECONDS=$(or $(SECONDS),600) LIMIT=7200 \
		test/run.sh $(B) oracle
	@$(AGAIN) embed
	@$(AGAIN) worst
	@$(AGAIN) mutants MUTANT_KINDS="refuse label weigh lax"
	@PROOFS=all PROOF_SECONDS=600 LIMIT=7200 test/run.sh $(B) proof
	@TABLES=20000 TABLE_SEED=$$(date +%s) EXPRS=20000 EXPR_SEED=$$(date +%s) \
		LIMIT=7200 test/run.sh $(B) "unit-table expr"
	@DOMAIN_MORE=$(or $(DOMAIN_MORE),20) CK_FORK=no $(B)/test/unit/test_verify_domains
	@ARM64_PROGRAMS=200000 $(AGAIN) agree PROGRAMS=3000000
	@AGREEMENT_SEED=$$(date +%s%N) LIMIT=7200 \
		CHAIN_SEED=$$(date +%s%N) CHAINS=100000 \
		test/run.sh $(B) "unit-chain unit-agreement arm64"
	@SEED=$$(date +%s) SEQUENCES=20000 LIMIT=7200 \
		test/run.sh $(B) "map_kernel ring_kernel"
	@ELEMENTS=100000 test/run.sh $(B) shell_batch
	@LONG=1 TIMES=200 LIMIT=1800 test/run.sh $(B) =gin_real
	@JUDGE_SEED=$$(date +%s) JUDGE_RUNS=$(or $(JUDGE_RUNS),50000) LUA_LIMIT=3600 \
		LIMIT=7200 test/run.sh $(B) =judge
	@MODEL_SECONDS=$(or $(SECONDS),600) LIMIT=7200 test/run.sh $(B) model
	@$(AGAIN) soak-faults soak-events

# Interpreter and machine code on PROGRAMS new random programs, on both targets.
.PHONY: agree
agree:
	@test/setup.sh build check
	@$(AGAIN) unit-tests $(if $(shell command -v $(ARM64_CC)),arm64-tests) >/dev/null
	@test/differential/agree.sh $(B) $(or $(PROGRAMS),1000000)

# A million events a second for SECONDS: memory bounded, all that is lost counted.
.PHONY: soak-events
soak-events:
	@$(AGAIN) V=release B=$(RELEASE) $(RELEASE)/test/unit/test_event_soak >/dev/null
	@EVENT_SOAK=$(or $(SECONDS),600) CK_FORK=no $(RELEASE)/test/unit/test_event_soak

# The fleet's tests with faults, with new seeds: two sites for SECONDS, then three
# sites and FAULTS faults, 33 a second.
.PHONY: soak-fleet bench-fleet
FAULTS ?= 10000
soak-fleet: lib policies hosts
	@FLEET_SECONDS=$(or $(SECONDS),600) FLEET_SEED=$$(date +%s) LIMIT=20000 \
		test/run.sh $(B) =fleet; \
	FAULTS=$(FAULTS) FAULT_SECONDS=$$(($(FAULTS) / 33)) FLEET_SEED=$$(date +%s) LIMIT=20000 \
		test/run.sh $(B) =fleet_faults; \
	grep -h '^#' $(B)/test/log/fleet.log $(B)/test/log/fleet_faults.log

# A change of SITES sites with RANKS ranks each, over three etcd members.
bench-fleet:
	@$(AGAIN) V=release B=$(RELEASE) lib policies hosts >/dev/null
	@test/bench/fleet.sh $(RELEASE)

.PHONY: bench-gpu
bench-gpu:
	@$(AGAIN) V=release B=$(RELEASE) lib policies hosts >/dev/null
	@test/bench/gpu.sh $(RELEASE)

# Processes killed and stopped at each step of the fence protocol: SECONDS long.
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
.PHONY: embed
embed: setup
	@$(AGAIN) V=release B=$(RELEASE) $(RELEASE)/test/unit/test_verify_embedding >/dev/null
	@EMBED_SEED=$(or $(SEED),$(shell date +%s)000000) EMBED_RUNS=$(or $(PROGRAMS),1000000) \
		CK_FORK=no $(RELEASE)/test/unit/test_verify_embedding

# The same with small budgets: two ranks agree whatever local data spends.
.PHONY: embed-small
embed-small: setup
	@$(AGAIN) V=release B=$(RELEASE) $(RELEASE)/test/unit/test_verify_embedding_small >/dev/null
	@EMBED_SEED=$(or $(SEED),$(shell date +%s)000000) EMBED_RUNS=$(or $(PROGRAMS),1000000) \
		CK_FORK=no $(RELEASE)/test/unit/test_verify_embedding_small

# All that is known of numbers of 4 to 8 bits, against brute force.
.PHONY: domains
DOMAIN_TESTS = $(patsubst %,$(RELEASE)/test/unit/test_verify_domains_%,4 5 6 7 8)
domains: setup
	@$(AGAIN) V=release B=$(RELEASE) $(DOMAIN_TESTS) >/dev/null
	@test/unit/domains.sh $(RELEASE) $(JOBS) $(WIDTHS)

# libFuzzer, with clang; what it finds stays in build/fuzz/found.
.PHONY: fuzz
fuzz:
	@test/setup.sh build check
	@$(AGAIN) V=fuzz CC=$(CLANG) B=build/fuzz WERROR= \
		$(or $(TARGETS:%=build/fuzz/test/fuzz/fuzz_%),$(FUZZ:$(B)/%=build/fuzz/%)) \
		>/dev/null
	@test/fuzz/fuzz.sh build/fuzz $(or $(SECONDS),120) $(TARGETS)

# The demo and the benchmarks run the code as it is installed.
RELEASE := $(if $(filter command line,$(origin B)),$(B),build/release)
demo: setup
	@$(AGAIN) V=release B=$(RELEASE) lib policies hosts >/dev/null
	@examples/demo/demo.sh $(RELEASE)

.PHONY: demo-ring
demo-ring: setup
	@$(AGAIN) V=release B=$(RELEASE) lib hosts >/dev/null
	@examples/ring-allreduce/ring.sh $(RELEASE)

.PHONY: demo-gin
demo-gin: setup
	@$(AGAIN) V=release B=$(RELEASE) lib policies hosts >/dev/null
	@examples/moe-alltoall/demo.sh $(RELEASE)

# In a virtual machine, or over a virtual adapter where none can be had.
.PHONY: demo-rdma check-rdma
demo-rdma:
	@test/setup.sh build check
	@$(AGAIN) V=release B=$(RELEASE) lib hosts verbs-ring >/dev/null
	@examples/rdma/demo.sh $(RELEASE) build/demo-rdma

# The same demo; a guest that does not come up is a failure.
check-rdma:
	@test/setup.sh build check
	@$(AGAIN) V=release B=$(RELEASE) lib hosts verbs-ring >/dev/null
	@DEMO_VM=yes test/run.sh $(RELEASE) =demo_rdma

.PHONY: demo-coherence
demo-coherence: setup
	@$(AGAIN) V=release B=$(RELEASE) lib policies hosts >/dev/null
	@examples/coherence/demo.sh $(RELEASE)

.PHONY: demo-rollout
demo-rollout: setup
	@$(AGAIN) V=release B=$(RELEASE) lib policies hosts >/dev/null
	@examples/rollout/demo.sh $(RELEASE)

.PHONY: demo-closed-loop
demo-closed-loop: setup
	@$(AGAIN) V=release B=$(RELEASE) lib policies hosts >/dev/null
	@examples/closed-loop/demo.sh $(RELEASE)

.PHONY: demo-fleet
demo-fleet: setup
	@test/setup.sh check
	@$(AGAIN) V=release B=$(RELEASE) lib policies hosts >/dev/null
	@examples/fleet/demo.sh $(RELEASE)

.PHONY: demo-trace
demo-trace: setup
	@$(AGAIN) V=release B=$(RELEASE) lib policies hosts >/dev/null
	@examples/trace/demo.sh $(RELEASE) build/demo-trace

bench: setup
	@$(AGAIN) V=release B=$(RELEASE) lib policies benches >/dev/null
	@test/bench/run.sh $(RELEASE) $(DOC)

.PHONY: bench-shell
bench-shell: setup
	@$(AGAIN) V=release B=$(RELEASE) lib policies hosts >/dev/null
	@python3 test/bench/shell.py $(RELEASE) $(DOC)

bench-verify: setup
	@$(AGAIN) V=release B=$(RELEASE) policies $(RELEASE)/test/bench/verify_bench >/dev/null
	@$(RELEASE)/test/bench/verify_bench $(RELEASE)/policies/*.policy >$(RELEASE)/verify.txt; \
		rc=$$?; cat $(RELEASE)/verify.txt; [ -z "$(DOC)" ] || \
		awk -f test/bench/verify_speed.awk $(RELEASE)/verify.txt | \
			test/bench/into.sh speed $(DOC); exit $$rc

.PHONY: bench-weights
bench-weights: setup
	@$(AGAIN) V=release B=$(RELEASE) $(RELEASE)/test/bench/weight_bench >/dev/null
	@$(RELEASE)/test/bench/weight_bench >$(RELEASE)/weights.txt; \
		rc=$$?; cat $(RELEASE)/weights.txt; [ -z "$(DOC)" ] || \
		test/bench/into.sh weights $(DOC) <$(RELEASE)/weights.txt; exit $$rc

.PHONY: worst
worst: setup
	@$(AGAIN) V=release B=$(RELEASE) $(RELEASE)/test/unit/test_verify_worst >/dev/null
	@WORST=1 $(RELEASE)/test/unit/test_verify_worst >$(RELEASE)/worst.txt; \
		rc=$$?; cat $(RELEASE)/worst.txt; [ -z "$(DOC)" ] || \
		awk -f test/bench/verify_worst.awk $(RELEASE)/worst.txt | \
			test/bench/into.sh worst $(DOC); exit $$rc

SOURCES := $(shell find core lua plugin policies shell test examples \
	\( -name '*.c' -o -name '*.h' \) -not -path '*/defs/*' 2>/dev/null)
C_SOURCES := $(filter-out %.bpf.c policies/%,$(filter %.c,$(SOURCES)))

fmt:
	clang-format -i $(SOURCES)

# What is made of tables: those of docs/policies.md (core/defs/), the picture of
# docs/architecture.md, the Lua reference and the manual pages. The types for
# editors go to the build folder.
.PHONY: docs
docs: $(SHELL_BIN)
	awk -f docs/tables.awk docs/policies.md >docs/policies.md.new
	mv docs/policies.md.new docs/policies.md
	awk -f docs/rooms.awk lint/layers.txt >docs/architecture.svg
	awk -f docs/choices.awk test/fakes/vgpu/b300.csv >docs/choices.svg
	$(call meta,$(B),docs)
	$(SHELL_BIN) -f shell/python/make.lua shell/python/ncclbpf/_commands.py

meta = mkdir -p $(1)/lua/meta $(2)/man && $(RUN) $(1)/ncclbpf-shell -f lua/meta/make.lua \
	lua/meta/ncclbpf.lua $(1)/lua/meta/ncclbpf.lua $(2)/lua-reference.md \
	$(2)/man/ncclbpf.3lua && \
	$(RUN) $(1)/ncclbpf-shell -f lua/meta/man.lua $(2)/man $(2)/shell.md

# The picture of docs/rollouts.md, by the test that looks at it in a browser.
.PHONY: docs-picture
docs-picture: $(SHELL_BIN) $(LUA_SO)
	@test/setup.sh browser
	@PICTURE=$(CURDIR)/docs/report.png test/run.sh $(B) =report

# That of docs/tracing.md, of what the demo measures here.
.PHONY: docs-trace
docs-trace: demo-trace
	cp build/demo-trace/trace.svg docs/tracing.svg

layers:
	@awk -f lint/layers.awk lint/layers.txt $(shell find core lua plugin shell policies \
		examples/embed -name '*.[ch]' -not -path '*/tool/*')

lint:
	@test/setup.sh build check lint
	@$(MAKE) --no-print-directory -k -j$(JOBS) lint-format lint-lines lint-lua lint-locale \
		lint-tidy lint-cppcheck lint-opcodes layers

.PHONY: lint-format lint-lines lint-lua lint-locale lint-tidy lint-cppcheck lint-opcodes
lint-format:
	@clang-format --dry-run -Werror $(SOURCES)
	@echo "format: $(words $(SOURCES)) files"

# No line over 100 columns, no file over 800 lines.
LINED := '*.c' '*.h' '*.lua' '*.sh' '*.t' '*.py' Makefile .ci/run 'shell/completion.*'
lint-lines:
	@git ls-files -z -- $(LINED) | LC_ALL=C xargs -0 awk -f lint/lines.awk

lint-lua:
	@lua5.4 lint/lint.lua $(LUA_FILES) $(wildcard lint/*.lua lua/meta/*.lua shell/*.lua)

# No function whose result depends on the locale of the process.
lint-locale:
	@LC_ALL=C awk -f lint/locale.awk $(shell find core lua plugin shell -name '*.[ch]')

# What is known of an instruction is a column of its row: few lines of code name it.
lint-opcodes:
	@awk -f lint/opcodes.awk -v LINES=5 -v FILES=5 core/defs/fns.h core/defs/isa.h \
		$(shell find core -name '*.[ch]' -not -path 'core/defs/*')

TIDY := $(patsubst %.c,$(B)/tidy/%.ok,$(filter core/% lua/% plugin/% shell/%,$(C_SOURCES)))
lint-tidy: $(TIDY)
	@echo "clang-tidy: $(words $(TIDY)) files"
$(B)/tidy/%.ok: %.c .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet --warnings-as-errors='*' $< -- -std=c11 -D_GNU_SOURCE \
		-DNCCLBPF_VERSION='"$(VERSION)"' -I. $(LUA_CFLAGS) 2>$@.log || \
		{ cat $@.log; exit 1; }
	@touch $@

lint-cppcheck:
	@cppcheck -q --std=c11 --inline-suppr --error-exitcode=1 -j$(JOBS) \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		--suppress=missingInclude \
		--suppress=arrayIndexOutOfBoundsCond:plugin/abi/wrapped_profiler.c \
		-D__x86_64__ -I. $(filter core/% lua/% plugin/% shell/%,$(C_SOURCES))
	@echo "cppcheck: clean"

# Both README commands in an empty Debian 12 (root, debootstrap).
check-fresh:
	@test/packaging/fresh.sh $(CURDIR)/build/fresh

.PHONY: check-glibc
ANSWERS = $(patsubst %.bpf.c,$(RELEASE)/%.policy,$(wildcard test/corpus/answers/*.bpf.c))
check-glibc:
	@test/setup.sh build
	@$(AGAIN) V=release B=$(RELEASE) $(RELEASE)/libncclbpf.so $(ANSWERS) >/dev/null
	@test/packaging/old_glibc.sh $(CURDIR)/build/glibc $(RELEASE)/libncclbpf.so \
		$(RELEASE)/test/corpus/answers

# The plugin cross-compiled for arm64: NCCL's stand-in calls every interface of it
# under qemu-user.
.PHONY: check-arm64
ARM64 := build/arm64
check-arm64:
	@test/setup.sh build check
	@$(AGAIN) V=release B=$(RELEASE) $(ANSWERS) >/dev/null
	@$(AGAIN) V=release B=$(ARM64) CC=aarch64-linux-gnu-gcc $(ARM64)/libncclbpf.so \
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

# ---- install -------------------------------------------------------------

STRIP ?= -s
D = $(DESTDIR)
INC = $(D)$(PREFIX)/include/ncclbpf
LUADIR = $(PREFIX)/share/lua/5.4
MANDIR = $(PREFIX)/share/man
ZSHDIR = $(PREFIX)/share/zsh/site-functions
PYTHONDIR = $(PREFIX)/share/ncclbpf/python
KINDS := tuner profiler net env

install_lua = for f in $(LUA_FILES:lua/%=%); do install -D -m 644 lua/$$f $(1)/$$f || exit 1; done

.PHONY: install uninstall
install: setup
	@$(AGAIN) V=release B=$(RELEASE) WERROR= lib policies >/dev/null
	install -d $(D)$(LIBDIR)/lua/5.4 $(D)$(PREFIX)/bin \
		$(INC)/core/defs $(D)$(PREFIX)/share/ncclbpf/policies \
		$(D)$(LIBDIR)/pkgconfig $(D)$(PREFIX)/share/bash-completion/completions
	install $(STRIP) -m 755 $(RELEASE)/libncclbpf.so $(D)$(LIBDIR)/
	install $(STRIP) -m 755 $(RELEASE)/libncclbpf-load.so $(D)$(LIBDIR)/
	install -d $(D)$(LIBDIR)/ncclbpf
	install $(STRIP) -m 755 $(RELEASE)/ncclbpf/libncclbpf-verbs.so $(D)$(LIBDIR)/ncclbpf/
	ln -sf libncclbpf-verbs.so $(D)$(LIBDIR)/ncclbpf/libibverbs.so
	for k in $(KINDS); do ln -sf libncclbpf.so $(D)$(LIBDIR)/libnccl-$$k-ncclbpf.so; done
	install $(STRIP) -m 755 $(RELEASE)/ncclbpf-shell $(RELEASE)/ncclbpf-agent $(D)$(PREFIX)/bin/
	install $(STRIP) -m 755 $(RELEASE)/lua/ncclbpf.so $(D)$(LIBDIR)/lua/5.4/
	$(call install_lua,$(D)$(LUADIR))
	$(call meta,$(RELEASE),$(RELEASE)/docs)
	install -d $(D)$(PREFIX)/share/ncclbpf/meta $(addprefix $(D)$(MANDIR)/man,1 3 5)
	install -m 644 $(RELEASE)/lua/meta/ncclbpf.lua $(RELEASE)/docs/lua-reference.md \
		$(D)$(PREFIX)/share/ncclbpf/meta/
	install -m 644 $(addprefix $(RELEASE)/docs/man/ncclbpf-,shell.1 agent.1) $(D)$(MANDIR)/man1/
	install -m 644 $(RELEASE)/docs/man/ncclbpf.3lua $(D)$(MANDIR)/man3/
	install -m 644 $(RELEASE)/docs/man/ncclbpf-rollout.5 $(D)$(MANDIR)/man5/
	install -m 644 policies/ncclbpf_policy.h policies/ncclbpf_math.h $(INC)/
	install -m 644 $(addprefix core/defs/,contexts.h ctx.h helpers.h maps.h nccl.h) \
		$(wildcard core/defs/hook_*.h) $(INC)/core/defs/
	install -m 644 policies/*.bpf.c $(RELEASE)/policies/*.policy \
		$(D)$(PREFIX)/share/ncclbpf/policies/
	sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@LUADIR@|$(LUADIR)|g' \
		-e 's|@VERSION@|$(VERSION)|g' plugin/ncclbpf.pc.in \
		>$(D)$(LIBDIR)/pkgconfig/ncclbpf.pc
	install -m 644 shell/completion.bash \
		$(D)$(PREFIX)/share/bash-completion/completions/ncclbpf-shell
	install -d $(D)$(PYTHONDIR)/ncclbpf
	install -m 644 $(wildcard shell/python/ncclbpf/*.py) shell/python/ncclbpf/py.typed \
		$(D)$(PYTHONDIR)/ncclbpf/
	install -D -m 644 shell/completion.zsh $(D)$(ZSHDIR)/_ncclbpf-shell
	install -D -m 644 shell/completion.fish \
		$(D)$(PREFIX)/share/fish/vendor_completions.d/ncclbpf-shell.fish

# The Lua module alone, where LuaRocks wants it (the .rockspec).
.PHONY: lua-module install-lua
lua-module: $(LUA_SO)
install-lua: lua-module
	install -d $(INST_LIBDIR)
	$(call install_lua,$(INST_LUADIR))
	install -m 755 $(LUA_SO) $(INST_LIBDIR)/ncclbpf.so

# Packages of the last commit, in build/packages.
.PHONY: dist deb rpm packages
dist:
	@packaging/build.sh dist $(VERSION) build/packages
deb rpm packages:
	@test/setup.sh build $(if $(filter deb,$@),deb,packages)
	@packaging/build.sh $@ $(VERSION) build/packages

.PHONY: check-packages
check-packages: packages
	@test/setup.sh buildah
	@$(AGAIN) V=release B=$(RELEASE) $(RELEASE)/test/fakes/host/standin >/dev/null
	@test/packaging/packages.sh $(CURDIR)/build/root build/packages $(CURDIR)/$(RELEASE)

.PHONY: deb-arm64 check-packages-arm64
deb-arm64:
	@test/setup.sh build packages cross
	@packaging/build.sh $@ $(VERSION) build/packages-arm64

check-packages-arm64: deb-arm64
	@$(AGAIN) V=release B=$(RELEASE) policies $(ANSWERS) >/dev/null
	@$(AGAIN) V=release B=$(ARM64) CC=aarch64-linux-gnu-gcc \
		$(addprefix $(ARM64)/test/fakes/host/,abi_check standin) >/dev/null
	@test/packaging/packages_arm64.sh $(CURDIR)/build/root-arm64 build/packages-arm64 \
		$(ARM64) $(RELEASE)

uninstall:
	rm -rf $(INC) $(D)$(LIBDIR)/ncclbpf $(D)$(LUADIR)/ncclbpf $(D)$(PREFIX)/share/ncclbpf \
		$(D)$(PYTHONDIR)/ncclbpf
	rm -f $(D)$(LIBDIR)/libncclbpf.so $(D)$(LIBDIR)/libncclbpf-load.so \
		$(foreach k,$(KINDS),$(D)$(LIBDIR)/libnccl-$k-ncclbpf.so) \
		$(D)$(PREFIX)/bin/ncclbpf-shell $(D)$(PREFIX)/bin/ncclbpf-agent \
		$(D)$(LIBDIR)/lua/5.4/ncclbpf.so \
		$(addprefix $(D)$(MANDIR)/man1/ncclbpf-,shell.1 agent.1) \
		$(D)$(MANDIR)/man3/ncclbpf.3lua $(D)$(MANDIR)/man5/ncclbpf-rollout.5 \
		$(D)$(LIBDIR)/pkgconfig/ncclbpf.pc \
		$(D)$(PREFIX)/share/bash-completion/completions/ncclbpf-shell \
		$(D)$(ZSHDIR)/_ncclbpf-shell \
		$(D)$(PREFIX)/share/fish/vendor_completions.d/ncclbpf-shell.fish

clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)
