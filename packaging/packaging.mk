# SPDX-License-Identifier: MIT
# Installation and packages.
#   PREFIX=/usr/local DESTDIR= LIBDIR=   and MANDIR= DOCDIR= ZSHDIR= PYTHONDIR=, STRIP= to keep
#   symbols
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib

STRIP ?= -s
D = $(DESTDIR)
INC = $(D)$(PREFIX)/include/ncclbpf
LUADIR = $(PREFIX)/share/lua/5.4
MANDIR = $(PREFIX)/share/man
DOCDIR = $(PREFIX)/share/doc/ncclbpf
ZSHDIR = $(PREFIX)/share/zsh/site-functions
PYTHONDIR = $(PREFIX)/share/ncclbpf/python
KINDS := tuner profiler net gin rma env
# RCCL's names for plugins: librccl-net in all releases, the others in some.
RCCL_KINDS := tuner profiler net
# The links to our libraries, by which NCCL and RCCL find them.
PLUGIN_LINKS := $(KINDS:%=libnccl-%-ncclbpf.so) $(RCCL_KINDS:%=librccl-%-ncclbpf.so)
TCP_LINKS := libnccl-gin-tcp.so libnccl-rma-tcp.so librccl-net-tcp.so

install_lua = for f in $(LUA_FILES:lua/%=%); do install -D -m 644 lua/$$f $(1)/$$f || exit 1; done

.PHONY: install install-files uninstall
## package: install         below PREFIX=/usr/local, DESTDIR=; make uninstall removes it
# Installation never runs a package manager: what is missing is named with the command to type.
install:
	@test/setup.sh -n build
	@$(RELEASE_OF) WERROR= lib policies $(RELEASE)/docs/made
	@$(AGAIN) install-files

# What has been built, of the release or of the B= on the command line.
install-files:
	install -d $(D)$(LIBDIR)/lua/5.4 $(D)$(PREFIX)/bin \
		$(INC)/core/defs $(D)$(PREFIX)/share/ncclbpf/policies/costs \
		$(D)$(LIBDIR)/pkgconfig $(D)$(PREFIX)/share/bash-completion/completions
	install $(STRIP) -m 755 $(RELEASE)/libncclbpf.so $(D)$(LIBDIR)/
	install $(STRIP) -m 755 $(RELEASE)/libncclbpf-load.so $(D)$(LIBDIR)/
	install -d $(D)$(LIBDIR)/ncclbpf
	install $(STRIP) -m 755 $(RELEASE)/ncclbpf/libncclbpf-verbs.so $(D)$(LIBDIR)/ncclbpf/
	ln -sf libncclbpf-verbs.so $(D)$(LIBDIR)/ncclbpf/libibverbs.so
	for l in $(PLUGIN_LINKS); do ln -sf libncclbpf.so $(D)$(LIBDIR)/$$l; done
	install $(STRIP) -m 755 $(RELEASE)/libnccl-net-tcp.so $(D)$(LIBDIR)/
	for l in $(TCP_LINKS); do ln -sf libnccl-net-tcp.so $(D)$(LIBDIR)/$$l; done
	install $(STRIP) -m 755 $(RELEASE)/ncclbpf-shell $(RELEASE)/ncclbpf-agent $(D)$(PREFIX)/bin/
	install $(STRIP) -m 755 $(RELEASE)/lua/ncclbpf.so $(D)$(LIBDIR)/lua/5.4/
	$(call install_lua,$(D)$(LUADIR))
	install -d $(D)$(DOCDIR)/docs
	install -m 644 README.md CHANGELOG.md $(D)$(DOCDIR)/
	install -m 644 $(wildcard $(addprefix $(RELEASE)/docs/*.,md svg)) $(D)$(DOCDIR)/docs/
	install -d $(D)$(PREFIX)/share/ncclbpf/meta $(addprefix $(D)$(MANDIR)/man,1 3 5)
	install -m 644 $(RELEASE)/lua/meta/ncclbpf.lua $(RELEASE)/docs/lua-reference.md \
		$(D)$(PREFIX)/share/ncclbpf/meta/
	install -m 644 $(addprefix $(RELEASE)/docs/man/ncclbpf-,shell.1 agent.1) $(D)$(MANDIR)/man1/
	install -m 644 $(RELEASE)/docs/man/ncclbpf.3lua $(D)$(MANDIR)/man3/
	install -m 644 $(RELEASE)/docs/man/ncclbpf-rollout.5 $(D)$(MANDIR)/man5/
	install -m 644 policies/ncclbpf_policy.h policies/ncclbpf_math.h $(INC)/
	install -m 644 $(addprefix core/defs/,contexts.h ctx.h helpers.h maps.h nccl.h) \
		$(wildcard core/defs/hook_*.h) $(INC)/core/defs/
	install -m 644 policies/*.bpf.c $(RELEASE)/policies/*.policy \
		$(D)$(PREFIX)/share/ncclbpf/policies/
	install -m 644 policies/costs/*.ndjson $(D)$(PREFIX)/share/ncclbpf/policies/costs/
	sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@LUADIR@|$(LUADIR)|g' \
		-e 's|@VERSION@|$(VERSION)|g' plugin/ncclbpf.pc.in \
		>$(D)$(LIBDIR)/pkgconfig/ncclbpf.pc
	install -m 644 shell/completion.bash \
		$(D)$(PREFIX)/share/bash-completion/completions/ncclbpf-shell
	install -d $(D)$(PYTHONDIR)/ncclbpf
	install -m 644 $(wildcard shell/python/ncclbpf/*.py) shell/python/ncclbpf/py.typed \
		$(D)$(PYTHONDIR)/ncclbpf/
	install -D -m 644 shell/completion.zsh $(D)$(ZSHDIR)/_ncclbpf-shell
	install -D -m 644 shell/completion.fish \
		$(D)$(PREFIX)/share/fish/vendor_completions.d/ncclbpf-shell.fish

# The Lua module alone, where LuaRocks wants it (the .rockspec).
.PHONY: lua-module install-lua
lua-module: $(LUA_SO)
install-lua: lua-module
	install -d $(INST_LIBDIR)
	$(call install_lua,$(INST_LUADIR))
	install -m 755 $(LUA_SO) $(INST_LIBDIR)/ncclbpf.so

## package: dist deb rpm    the source archive, Debian and RPM packages in build/packages
# Packages of the last commit; the source archive has the manual pages and the Lua reference too.
.PHONY: dist deb rpm packages
dist: $(DOCS)/made
	@packaging/build.sh dist $(VERSION) build/packages $(DOCS)
deb rpm packages:
	@test/setup.sh build $(if $(filter deb,$@),deb,packages)
	@packaging/build.sh $@ $(VERSION) build/packages

## package: check-packages  lintian, rpmlint; images of the Containerfile; in Debian 13 and sid; check-glibc
.PHONY: check-packages
check-packages:
	@test/setup.sh build packages buildah
	@$(RELEASE_OF) $(RELEASE)/test/fakes/host/standin $(ANSWERS) >/dev/null
	@test/packaging/packages.sh $(CURDIR)/build/root build/packages $(CURDIR)/$(RELEASE)
	@test/packaging/packages_newer.sh $(CURDIR)/build/root build/packages trixie
	@test/packaging/packages_newer.sh $(CURDIR)/build/root build/packages sid
	@$(OLD_GLIBC)

## package: deb-arm64       Debian packages for arm64 by cross compilation
## package: check-packages-arm64  lintian; with their dependencies from Debian, under qemu-user
.PHONY: deb-arm64 check-packages-arm64
deb-arm64:
	@test/setup.sh build packages cross
	@packaging/build.sh $@ $(VERSION) build/packages-arm64

check-packages-arm64: deb-arm64
	@$(RELEASE_OF) policies $(ANSWERS) >/dev/null
	@$(AGAIN) VARIANT=release B=$(ARM64) CC=aarch64-linux-gnu-gcc \
		$(addprefix $(ARM64)/test/fakes/host/,abi_check standin) >/dev/null
	@test/packaging/packages_arm64.sh $(CURDIR)/build/root-arm64 build/packages-arm64 \
		$(ARM64) $(RELEASE)

uninstall:
	rm -rf $(INC) $(D)$(LIBDIR)/ncclbpf $(D)$(LUADIR)/ncclbpf $(D)$(PREFIX)/share/ncclbpf \
		$(D)$(PYTHONDIR)/ncclbpf $(D)$(DOCDIR)
	rm -f $(D)$(LIBDIR)/libncclbpf.so $(D)$(LIBDIR)/libncclbpf-load.so \
		$(addprefix $(D)$(LIBDIR)/,$(PLUGIN_LINKS) libnccl-net-tcp.so $(TCP_LINKS)) \
		$(D)$(PREFIX)/bin/ncclbpf-shell $(D)$(PREFIX)/bin/ncclbpf-agent \
		$(D)$(LIBDIR)/lua/5.4/ncclbpf.so \
		$(addprefix $(D)$(MANDIR)/man1/ncclbpf-,shell.1 agent.1) \
		$(D)$(MANDIR)/man3/ncclbpf.3lua $(D)$(MANDIR)/man5/ncclbpf-rollout.5 \
		$(D)$(LIBDIR)/pkgconfig/ncclbpf.pc \
		$(D)$(PREFIX)/share/bash-completion/completions/ncclbpf-shell \
		$(D)$(ZSHDIR)/_ncclbpf-shell \
		$(D)$(PREFIX)/share/fish/vendor_completions.d/ncclbpf-shell.fish

