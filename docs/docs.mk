# SPDX-License-Identifier: MIT
# What is made of tables: those of docs/policies.md (core/defs/), the picture of
# docs/architecture.md, the Lua reference and the manual pages. The types for
# editors go to the build folder.
## maintain: docs           tables, reference, manual pages anew
## maintain: docs-picture   docs/report.png anew, from a browser
## maintain: docs-trace     docs/tracing.svg anew, of what make demo-trace measures
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
	@PICTURE=$(CURDIR)/docs/report.png test/run -b $(B) =report

# That of docs/tracing.md, of what the demo measures here.
.PHONY: docs-trace
docs-trace: demo-trace
	cp build/demo-trace/trace.svg docs/tracing.svg

