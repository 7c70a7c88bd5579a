# SPDX-License-Identifier: MIT
# Plugins of others, to be called through ours: good ones of every version, and
# bad ones. What a tuner or profiler does wrong is in its environment.
CHAIN_TUNERS := $(foreach v,2 3 4 5 6 7,$(B)/test/fakes/wrapped/tuner_v$(v).so)
CHAIN_PROFILERS := $(foreach v,1 2 3 4 5 6 7,$(B)/test/fakes/wrapped/profiler_v$(v).so)
CHAIN_SO := $(addprefix $(B)/test/fakes/wrapped/,none.so libnccl-tuner-named.so \
	unresolved.so bench_profiler.so profiler_v67.so csv_tuner.so \
	csv_tuner_v7.so) $(CHAIN_TUNERS) $(CHAIN_PROFILERS)
CHAIN_GINS := $(foreach v,11 12 13 14 15 16 17,$(B)/test/fakes/wrapped/gin_v$(v).so)
tests unit-fakes: $(CHAIN_SO) $(CHAIN_GINS) $(B)/test/corpus/gin/hold.policy
$(CHAIN_GINS:.so=.o): $(B)/test/fakes/wrapped/gin_v%.o: test/fakes/wrapped/gin.c
	@mkdir -p $(@D)
	$(cc) -DABI=$* -c -o $@ $<

$(B)/test/fakes/wrapped/%.so: $(B)/test/fakes/wrapped/%.o
	$(ld) -shared -Wl,-z,now -o $@ $<
$(CHAIN_TUNERS:.so=.o): $(B)/test/fakes/wrapped/tuner_v%.o: test/fakes/wrapped/tuner.c
	@mkdir -p $(@D)
	$(cc) -DV=$* -c -o $@ $<
$(B)/test/fakes/wrapped/csv_tuner_v7.o: test/fakes/wrapped/csv_tuner.c
	@mkdir -p $(@D)
	$(cc) -DV7 -c -o $@ $<
# One file for both kinds, as mixed plugins are.
$(CHAIN_PROFILERS): $(B)/test/fakes/wrapped/profiler_v%.so: $(B)/test/fakes/wrapped/profiler_v%.o $(B)/test/fakes/wrapped/tuner_v2.o
	$(ld) -shared -Wl,-z,now -o $@ $^
$(CHAIN_PROFILERS:.so=.o): $(B)/test/fakes/wrapped/profiler_v%.o: test/fakes/wrapped/profiler.c
	@mkdir -p $(@D)
	$(cc) -DV=$* -c -o $@ $<
$(B)/test/fakes/wrapped/libnccl-tuner-named.so: $(B)/test/fakes/wrapped/tuner_v5.o
	$(ld) -shared -Wl,-z,now -o $@ $<
# It calls what nobody has.
$(B)/test/fakes/wrapped/unresolved.so: test/fakes/wrapped/rules.mk
	@mkdir -p $(@D)
	echo 'int nobody_has_this(void); int f(void); int f(void) { return nobody_has_this(); }' | \
		$(CC) -x c -shared -fPIC -o $@ -
# Both versions in one file, for two NCCLs in one process.
$(B)/test/fakes/wrapped/profiler_v67.so: $(B)/test/fakes/wrapped/profiler_v6.o $(B)/test/fakes/wrapped/profiler_v7.o
	$(ld) -shared -Wl,-z,now -Wl,-z,muldefs -o $@ $^
# A profiler alone.
$(B)/test/fakes/wrapped/bench_profiler.so: $(B)/test/fakes/wrapped/profiler_v6.o
	$(ld) -shared -Wl,-z,now -o $@ $<
