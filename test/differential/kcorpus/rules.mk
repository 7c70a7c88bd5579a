# SPDX-License-Identifier: MIT
# The kernel's own verifier tests as a corpus: run, never kept here.
KCORPUS := $(B)/test/differential/kcorpus/kcorpus

$(KCORPUS): $(filter-out %/arrays.o,$(call o,test/differential/kcorpus/*.c)) $(B)/test/differential/oracle/kernel.o \
		$(B)/test/differential/embedding/mutate.o $(CORE) $(LOADER)
	$(ld) -o $@ $^ $(LOAD_LIBS) -lpthread

$(KCORPUS): NB_LDFLAGS += -Wl,--wrap=nb_spec_helper -Wl,--wrap=nb_check_written
tests-full: $(KCORPUS)

.PHONY: check-kernel-corpus
check-kernel-corpus:
	@test/setup.sh build check full
	@test/setup.sh corpus || :
	@$(AGAIN) $(KCORPUS)
	@LINUX="$(LINUX)" DOC="$(DOC)" MUTANTS="$(MUTANTS)" SHOW="$(SHOW)" \
		test/differential/kcorpus/run.sh $(B)
