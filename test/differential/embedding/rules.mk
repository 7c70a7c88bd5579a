# SPDX-License-Identifier: MIT
# State embedding: tests and a fuzz target with its generator and machine.
$(B)/test/unit/test_verify_embedding: $(call o,test/differential/embedding/*.c)
$(B)/test/unit/test_replicated: $(call o,test/differential/embedding/*.c)
$(B)/test/unit/test_verify_corpora: $(call o,test/differential/embedding/*.c)
$(B)/test/fuzz/fuzz_embed: $(call o,test/differential/embedding/*.c)

# The same with small budgets: two ranks must agree all the same.
EMBEDDING_SMALL := $(B)/test/unit/test_verify_embedding_small
tests-full: $(EMBEDDING_SMALL)

$(EMBEDDING_SMALL): NB_LDFLAGS += -Wl,--wrap=nb_state_subsumes
$(B)/test/fuzz/fuzz_embed: LDFLAGS += -Wl,--wrap=nb_state_subsumes
$(EMBEDDING_SMALL): $(call small,$(B)/test/unit/test_verify_embedding.o \
		$(call o,test/differential/embedding/*.c) $(ASM) $(CORE))
	@mkdir -p $(@D)
	$(ld) -o $@ $^ $(CHECK_LIBS) -lpthread
