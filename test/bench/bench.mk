# SPDX-License-Identifier: MIT
# Benchmarks; `make bench` runs them from a release build (test/bench/run.sh).

BENCH_NAMES := change_bench decision event_bench load_bench exec_bench gin_bench inline_bench lookup_bench \
	map_bench net_bench plugin_bench table_bench verbs_bench verify_bench weight_bench
BENCHES := $(addprefix $(B)/test/bench/,$(BENCH_NAMES) empty_tuner.so)
benches: $(B)/test/fakes/host/net_plugin_v12.so $(B)/test/fakes/wrapped/csv_tuner.so \
	$(B)/test/bench/gin_noop.policy

$(addprefix $(B)/test/bench/,$(BENCH_NAMES)): %: %.o $(B)/test/bench/bench.o
	$(ld) -o $@ $(filter %.o,$^) -ldl -lm -lpthread $(BENCH_LIBS)

$(addprefix $(B)/test/bench/,event_bench exec_bench inline_bench lookup_bench map_bench plugin_bench table_bench verify_bench weight_bench): $(CORE)
$(B)/test/bench/inline_bench $(B)/test/bench/weight_bench: $(ASM)
$(B)/test/bench/decision: $(B)/test/fakes/host/nccl.o
$(B)/test/bench/change_bench: $(B)/test/fakes/host/nccl.o $(CORE)
$(B)/test/bench/change_bench: LDFLAGS += -Wl,--export-dynamic-symbol=ncclGetVersion
$(B)/test/bench/event_bench $(B)/test/bench/plugin_bench: $(PLUGIN)
$(B)/test/bench/event_bench: $(B)/test/bench/event_peer.o $(B)/test/fakes/host/prof.o
$(B)/test/bench/verify_bench: BENCH_LIBS = $(LOAD_LIBS)
$(B)/test/bench/verify_bench: $(B)/test/bench/verify_made.o $(B)/test/bench/verify_kernel.o

benches: $(B)/test/bench/verbs/libibverbs.so.1 $(addprefix $(B)/test/bench/,verbs_noop.bpf.o verbs_times.bpf.o)

# The loops of verbs_bench, in the program and in a library as NCCL is.
$(B)/test/bench/verbs_bench: $(B)/test/bench/verbs_calls.o
$(B)/test/bench/verbs_bench: BENCH_LIBS = -Wl,-rpath,'$$ORIGIN'
$(B)/test/bench/verbs_bench: | $(B)/test/bench/verbs_calls.so
$(B)/test/bench/verbs_calls.so: $(B)/test/bench/verbs_calls.o
	$(ld) -shared -o $@ $<

# A libibverbs that does nothing, in a folder of its own.
$(B)/test/bench/verbs/libibverbs.so.1: $(B)/test/bench/verbs_null.o test/bench/verbs_null.map
	@mkdir -p $(@D)
	$(ld) -shared -Wl,--version-script=test/bench/verbs_null.map \
		-Wl,-soname,libibverbs.so.1 -o $@ $<

$(B)/test/bench/empty_tuner.so: $(call o,test/bench/empty_tuner.c)
	$(ld) -shared -o $@ $^

# Policies as native code: what exec_bench compares machine code with.
BENCH_NATIVE := $(patsubst policies/%.bpf.c,$(B)/test/bench/native/%.o,$(wildcard policies/*.bpf.c))
# Ports of public tuners' rules, and forms of rules. Their programs on other hooks are not measured,
# and some have names of policies/, so only programs and maps of decisions stay global.
BENCH_RULE_SRC := $(wildcard test/corpus/rules/*.bpf.c examples/patterns/*.bpf.c)
BENCH_NATIVE_RULES := $(patsubst %.bpf.c,$(B)/test/bench/native/rules/%.o,$(notdir $(BENCH_RULE_SRC)))
BENCH_RULES := $(patsubst %.bpf.c,$(B)/%.policy,$(BENCH_RULE_SRC))
$(B)/test/bench/exec_bench: $(BENCH_NATIVE) $(BENCH_NATIVE_RULES)

$(B)/test/bench/native/%.o: policies/%.bpf.c test/bench/native.h
	@mkdir -p $(@D)
	$(CC) -O2 -w -I. -MMD -MP -D_GNU_SOURCE -include test/bench/native.h \
		-c -o $@ $<

define native_rule
$(B)/test/bench/native/rules/%.o: $(1)/%.bpf.c test/bench/native.h
	@mkdir -p $$(@D)
	$$(CC) -O2 -w -I. -Ipolicies -MMD -MP -D_GNU_SOURCE -include test/bench/native.h -c -o $$@ $$<
	objcopy -G $$* -G wanted -G most $$@
endef
$(foreach dir,test/corpus/rules examples/patterns,$(eval $(call native_rule,$(dir))))

# The agents of simulated sites: the real agent but for its segment and its
# requests to processes (make bench-fleet).
FLEET_AGENTS := $(B)/test/bench/fleet_agents
hosts: $(FLEET_AGENTS)
$(FLEET_AGENTS): $(call o,test/bench/fleet_agents.c test/bench/fleet_site.c) \
		$(filter-out %/main.o %/site.o %/procs.o,$(AGENT)) $(STORE) $(RELAY) $(CORE)
	$(ld) -o $@ $^ $(STORE_LIBS) $(RELAY_LIBS) -lpthread

# When the ranks of all sites have taken a change.
hosts: $(B)/test/bench/fleet_ranks
$(B)/test/bench/fleet_ranks: $(B)/test/bench/fleet_ranks.o
	$(ld) -o $@ $^

## measure: bench          what things cost, beside their budgets; DOC=docs/bench.md
## measure: bench-gpu      what ncclbpf costs two ranks on one real GPU: SIZE=1K ROUNDS=5
## measure: bench-shell    what people wait for: prompt, completion, verdict, report; DOC=docs/bench.md
## measure: bench-verify   what a verdict costs, beside the kernel's; DOC=docs/verifier.md
## measure: bench-weights  what helpers cost, beside what the verifier counts
## measure: bench-fleet    how long a change of a job of several hosts takes
## measure: worst          the programs whose verdict costs most; DOC=docs/verifier.md
.PHONY: benches bench bench-verify
benches tests-full: $(BENCHES) $(BENCH_RULES)
bench: setup
	@$(RELEASE_OF) lib policies benches >/dev/null
	@test/bench/run.sh $(RELEASE) $(DOC)

.PHONY: bench-shell
bench-shell: setup
	@$(RELEASE_OF) lib policies hosts >/dev/null
	@python3 test/bench/shell.py $(RELEASE) $(DOC)

bench-verify: setup
	@$(RELEASE_OF) policies $(RELEASE)/test/bench/verify_bench >/dev/null
	@$(RELEASE)/test/bench/verify_bench $(RELEASE)/policies/*.policy >$(RELEASE)/verify.txt; \
		rc=$$?; cat $(RELEASE)/verify.txt; [ -z "$(DOC)" ] || \
		awk -f test/bench/verify_speed.awk $(RELEASE)/verify.txt | \
			test/bench/into.sh speed $(DOC); exit $$rc

.PHONY: bench-weights
bench-weights: setup
	@$(RELEASE_OF) $(RELEASE)/test/bench/weight_bench >/dev/null
	@$(RELEASE)/test/bench/weight_bench

.PHONY: worst
worst: setup
	@$(RELEASE_OF) $(RELEASE)/test/unit/test_verify_worst >/dev/null
	@WORST=1 $(RELEASE)/test/unit/test_verify_worst >$(RELEASE)/worst.txt; \
		rc=$$?; cat $(RELEASE)/worst.txt; [ -z "$(DOC)" ] || \
		awk -f test/bench/verify_worst.awk $(RELEASE)/worst.txt | \
			test/bench/into.sh worst $(DOC); exit $$rc

.PHONY: bench-gpu
bench-gpu:
	@$(RELEASE_OF) lib policies hosts >/dev/null
	@test/bench/gpu.sh $(RELEASE)

