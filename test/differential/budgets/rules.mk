# SPDX-License-Identifier: MIT
# Core and tests once more with small budgets (core/bpf/isa/budgets.h), which
# programs of a few instructions use up.
SMALL := $(B)/small
small = $(patsubst $(B)/%,$(SMALL)/%,$(1))

$(SMALL)/%.o: %.c
	@mkdir -p $(@D)
	$(cc) -DNB_SMALL_BUDGETS -c -o $@ $<

BUDGET_MATRIX := $(B)/test/unit/test_budget_matrix
tests-full: $(BUDGET_MATRIX)

$(BUDGET_MATRIX): $(call small,$(B)/test/differential/budgets/matrix.o $(ASM) $(CORE))
	@mkdir -p $(@D)
	$(ld) -o $@ $^ $(CHECK_LIBS) -lpthread
