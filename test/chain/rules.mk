# SPDX-License-Identifier: MIT
# Plugins of others, to be called through ours: good ones of every version, and
# bad ones. What a tuner or profiler does wrong is in its environment.
CHAIN_TUNERS := $(foreach v,2 3 4 5 6,$(B)/test/chain/tuner_v$(v).so)
CHAIN_PROFILERS := $(foreach v,1 2 3 4 5 6,$(B)/test/chain/profiler_v$(v).so)
CHAIN_SO := $(addprefix $(B)/test/chain/,none.so libnccl-tuner-named.so \
	unresolved.so crash.so bench_profiler.so) $(CHAIN_TUNERS) $(CHAIN_PROFILERS)
tests unit-tests: $(CHAIN_SO)

$(B)/test/chain/%.so: $(B)/test/chain/%.o
	$(CC) -shared $(SAN) $(LDFLAGS) -Wl,-z,now -o $@ $<
$(CHAIN_TUNERS:.so=.o): $(B)/test/chain/tuner_v%.o: test/chain/tuner.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DV=$* -c -o $@ $<
# One file for both kinds, as mixed plugins are.
$(CHAIN_PROFILERS): $(B)/test/chain/profiler_v%.so: $(B)/test/chain/profiler_v%.o $(B)/test/chain/tuner_v2.o
	$(CC) -shared $(SAN) $(LDFLAGS) -Wl,-z,now -o $@ $^
$(CHAIN_PROFILERS:.so=.o): $(B)/test/chain/profiler_v%.o: test/chain/profiler.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DV=$* -c -o $@ $<
$(B)/test/chain/libnccl-tuner-named.so: $(B)/test/chain/tuner_v5.o
	$(CC) -shared $(SAN) $(LDFLAGS) -Wl,-z,now -o $@ $<
# It calls what nobody has.
$(B)/test/chain/unresolved.so: test/chain/rules.mk
	@mkdir -p $(@D)
	echo 'int nobody_has_this(void); int f(void); int f(void) { return nobody_has_this(); }' | \
		$(CC) -x c -shared -fPIC -o $@ -
# A profiler alone.
$(B)/test/chain/bench_profiler.so: $(B)/test/chain/profiler_v6.o
	$(CC) -shared $(SAN) $(LDFLAGS) -Wl,-z,now -o $@ $<
