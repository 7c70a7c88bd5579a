# SPDX-License-Identifier: MIT
# A policy is C for the BPF target; its image is made by our own front end.
POLICIES := $(patsubst %.bpf.c,$(B)/%.policy,$(wildcard policies/*.bpf.c))

## build: policies       the policies of policies/
.PHONY: policies
policies: $(POLICIES)

$(B)/%.bpf.o: %.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$<)$(CLANG) -target bpf -mcpu=v3 -O2 -g -I. -Ipolicies -MMD -MP -Wall \
		-fdebug-prefix-map=$(CURDIR)=. \
		-Wno-unknown-attributes -c -o $@ $<

$(B)/%.policy: $(B)/%.bpf.o $(B)/tools/policy_build
	$(call say,IMG,$@)$(RUN) $(B)/tools/policy_build $< $@
