# SPDX-License-Identifier: MIT
# What is made of tables: the documents as they are installed, in $(DOCS), with the tables of
# core/defs/ and of the shell's commands in them; the Lua reference and the manual pages. The types
# for editors go beside the Lua module. Pictures stay in the repository, whose pages show them.
## build: docs              documents with their tables, Lua reference, manual pages
## maintain: docs-picture   docs/report.png anew, from a browser
## maintain: docs-trace     docs/tracing.svg anew, of what make demo-trace measures
DOCS := $(B)/docs
.PHONY: docs
docs: $(DOCS)/made docs/architecture.svg docs/choices.svg

# The shell of this build runs the generators; where they are older than it, they run again.
$(DOCS)/made: $(SHELL_BIN) $(wildcard docs/*.md docs/*.awk docs/*.svg docs/*.png lua/meta/*.lua \
		core/defs/*.h)
	@mkdir -p $(DOCS)/man $(B)/lua/meta
	$(call say,DOC,$(DOCS))cp $(wildcard docs/*.md docs/*.svg docs/*.png) $(DOCS)/
	@awk -f docs/tables.awk docs/policies.md >$(DOCS)/policies.md
	@$(RUN) $(SHELL_BIN) -f lua/meta/make.lua lua/meta/ncclbpf.lua $(B)/lua/meta/ncclbpf.lua \
		$(DOCS)/lua-reference.md $(DOCS)/man/ncclbpf.3lua
	@$(RUN) $(SHELL_BIN) -f lua/meta/man.lua $(DOCS)/man $(DOCS)/shell.md
	@touch $@

docs/architecture.svg: lint/layers.txt docs/rooms.awk
	awk -f docs/rooms.awk lint/layers.txt >$@
docs/choices.svg: test/fakes/vgpu/b300.csv docs/choices.lua | $(SHELL_BIN)
	$(SHELL_BIN) -f docs/choices.lua test/fakes/vgpu/b300.csv >$@

# The picture of docs/rollouts.md, by the test that looks at it in a browser.
.PHONY: docs-picture
docs-picture: $(SHELL_BIN) $(LUA_SO)
	@test/setup.sh browser
	@PICTURE=$(CURDIR)/docs/report.png test/run -b $(B) =report

# That of docs/tracing.md, of what the demo measures here.
.PHONY: docs-trace
docs-trace: demo-trace
	cp build/demo-trace/trace.svg docs/tracing.svg
