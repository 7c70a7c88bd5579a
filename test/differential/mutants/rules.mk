# SPDX-License-Identifier: MIT
# The verifier with switches at its checks, and the tests linked with it.
MUTANTS := $(B)/test/differential/mutants
MUTANT_SRC := $(wildcard core/bpf/verify/*.c core/bpf/verify/*/*.c)
MUTANT_OBJ := $(patsubst %.c,$(MUTANTS)/verify/%.o,$(notdir $(MUTANT_SRC)))
MUTANT_REST = $(filter-out $(B)/core/bpf/verify/%,$(CORE) $(LOADER)) \
	$(MUTANT_OBJ) $(MUTANTS)/mutant.o $(ASM)
MUTANT_UNITS := $(addprefix $(MUTANTS)/,test_verify test_verify_limits test_weight)
MUTANT_KINDS ?= refuse label weigh
MUTANT_SAMPLE ?= 1# of the kind lax only each so many
MUTANT_RULES := test/differential/mutants/rules.txt
MUTANT_LISTS := $(MUTANT_RULES) test/differential/mutants/survivors.txt test/differential/mutants/lax.txt

$(MUTANTS)/verify/mutants.txt: test/differential/mutants/mutate.py $(MUTANT_SRC)
	@mkdir -p $(@D)
	@/usr/bin/python3 $< $(@D) $(MUTANT_SRC)

$(MUTANT_OBJ): $(MUTANTS)/verify/%.o: $(MUTANTS)/verify/mutants.txt
	$(cc) -O1 -g0 -w -c -o $@ $(@:.o=.c)

$(MUTANTS)/mutants.o: NB_CFLAGS += -Wno-unused-function
$(MUTANTS)/mutants: $(MUTANTS)/mutants.o $(MUTANT_REST)
	$(ld) -o $@ $^ $(LOAD_LIBS) $(CHECK_LIBS) -lpthread

$(MUTANTS)/test_verify: NB_LDFLAGS += -Wl,--wrap=nb_spec_helper
$(MUTANT_UNITS): $(MUTANTS)/%: $(B)/test/unit/%.o $(MUTANT_REST)
	$(ld) -o $@ $^ $(LOAD_LIBS) $(CHECK_LIBS) -lpthread

.PHONY: mutants-build mutants-table mutants
mutants-build: $(MUTANTS)/mutants $(MUTANT_UNITS) \
	$(filter $(B)/test/corpus/accept/% $(B)/test/corpus/reject/%,$(CORPUS))

# By as many processes as there are processors. Of a sample, the listed ones only
# meet the quick programs: a run of all tests that ends without a difference takes longest.
# Fresh memory has no zeros, so that a mutant that leaves a field unset is noticed each time.
MUTANT_ALL = $(filter 1,$(strip $(MUTANT_SAMPLE)))
mutants-table: export MALLOC_PERTURB_ = 171
mutants-table: mutants-build
	@awk -F'\t' -v all=$(MUTANT_ALL) -v sample=$(strip $(MUTANT_SAMPLE)) -v part=$(MUTANTS)/part \
		-f test/differential/mutants/part.awk $(MUTANT_LISTS) $(MUTANTS)/verify/mutants.txt
	@B=$(B) TOP=. $(MUTANTS)/mutants $(MUTANTS)/part.txt $(MUTANTS)/part.listed.txt \
		$(MUTANTS)/part.out "$(MUTANT_KINDS)" $(JOBS) $(MUTANT_UNITS)
	@sort -n $(MUTANTS)/part.out >$(MUTANTS)/table.txt

# Which test notices each check of the verifier when it is switched off.
mutants: mutants-table
	@cut -f2- $(MUTANTS)/table.txt
	@awk -v ALL=$(MUTANT_ALL) \
		-f test/differential/mutants/check.awk $(MUTANT_LISTS) $(MUTANTS)/table.txt
