# SPDX-License-Identifier: MIT
# How each file is compiled and linked.
#
#   VARIANT=debug release asan tsan cov fuzz   each has its own build/VARIANT
#   V=1                  print the commands instead of one short line for a file
#   WERROR=1             warnings are errors
#   CFLAGS= LDFLAGS=     of the user: added behind the flags of the build
#   CC= CLANG= CUDA=     compilers, and the folder of the CUDA toolkit
#   RUN=                 what runs the programs that the build itself needs: an emulator where CC
#                        compiles for another processor (make deb-arm64)

VARIANTS := debug release asan tsan cov fuzz
VARIANT ?= debug
ifeq ($(filter $(VARIANT),$(VARIANTS)),)
$(error VARIANT=$(VARIANT) is not a variant; allowed: $(VARIANTS))
endif
ifneq ($(filter-out 0 1,$(V)),)
$(error V=$(V): allowed: 0, 1 (print commands)$(if $(filter $(V),$(VARIANTS)),; \
	a variant is VARIANT=$(V)))
endif

B ?= build/$(VARIANT)
CLANG ?= clang
PKG_CONFIG ?= pkg-config
CUDA ?= /usr/local/cuda
RUN ?=
JOBS := $(shell nproc)
# Parallel, unless the command says otherwise. A second make shares the job slots of the first.
ifeq ($(SLOTS),)
MAKEFLAGS += -j$(JOBS)
endif
unexport SLOTS
MAKEFLAGS += --no-print-directory
# Set-up may install compilers, so what follows it is a second make that looks for its tools again.
# The + passes the job slots on: make sees no $(MAKE) in a recipe that names it by a variable.
AGAIN = +SLOTS=shared $(MAKE) --no-print-directory

.DELETE_ON_ERROR:
.SECONDARY:

OPT.debug   := -Og
OPT.release := -O2 -DNDEBUG -fstack-protector-strong -D_FORTIFY_SOURCE=2
OPT.asan    := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
OPT.tsan    := -O1 -fsanitize=thread
OPT.cov     := -O0 --coverage
OPT.fuzz    := -O1 -fsanitize=fuzzer-no-link,address,undefined
OPT := $(OPT.$(VARIANT))
# With sanitizers debug information is for the lines of their reports.
SAN := $(filter -fsanitize=% --coverage,$(OPT))
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Wvla \
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wcast-qual -Wwrite-strings -Wswitch-enum -Wformat=2 \
	-Wimplicit-fallthrough -Wdouble-promotion -Wframe-larger-than=8192

NB_CPPFLAGS := -I. -MMD -MP -DNCCLBPF_VERSION='"$(VERSION)"'
NB_CFLAGS := -std=c11 -D_GNU_SOURCE $(if $(SAN),-g1,-g) -fPIC -fvisibility=hidden \
	-ffunction-sections -fdata-sections \
	-ffile-prefix-map=$(CURDIR)/= $(WARN) $(OPT) $(if $(WERROR),-Werror)
# There are many test programs, so gold links them where it is installed. The release variant keeps
# the compiler's linker.
NB_LDFLAGS := $(if $(filter release,$(VARIANT)),,$(if $(shell command -v ld.gold),-fuse-ld=gold))

COMPILE = $(CC) $(NB_CPPFLAGS) $(CPPFLAGS) $(NB_CFLAGS) $(CFLAGS)
LINK = $(CC) $(SAN) $(NB_LDFLAGS) $(LDFLAGS)

# $(call say,WORD,FILE): a recipe line that prints both, or with V=1 the command that follows.
say = $(if $(filter 1,$(V)),,@printf '  %-4s %s\n' $1 '$2' && )
cc = $(call say,CC,$<)$(COMPILE)
ld = $(call say,LD,$@)$(LINK)

# Object files of wildcard patterns.
o = $(patsubst %.c,$(B)/%.o,$(wildcard $(1)))

# What is compiled with other flags is compiled again: those above, and those that the parts set
# for some files. -Werror changes no object, nor does the folder that holds the tree. A checkout
# below build is not a part of this one.
FLAGS := $(B)/flags
FLAGS_OF_PARTS := $(shell sed -e ':a' -e '/\\$$/N' -e 's/\\\n//' -e ta \
	$(sort $(filter-out build/%,$(wildcard */*.mk */*/*.mk */*/*/*.mk))) | grep -E 'FLAGS|\((cc|ld)\)|^COLD|^WRAP' | cksum)
FLAGS_NOW := $(CC) $(filter-out -Werror -ffile-prefix-map=%,$(NB_CPPFLAGS) $(CPPFLAGS) $(NB_CFLAGS) $(CFLAGS)) : \
	$(SAN) $(LDFLAGS) : $(FLAGS_OF_PARTS)
.PHONY: flags-changed
$(FLAGS): $(if $(filter-out $(file <$(FLAGS)),$(FLAGS_NOW))$(filter-out $(FLAGS_NOW),$(file <$(FLAGS))),flags-changed)
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' >$@

$(B)/%.o: %.c $(FLAGS)
	@mkdir -p $(@D)
	$(cc) -c -o $@ $<

# Libraries load with glibc 2.28 and later. libdl and libpthread are empty since
# glibc 2.34; before, they hold what is in libc now.
FLOOR := $(if $(SAN),,-include core/base/glibc_floor.h)
$(B)/core/%.o $(B)/plugin/%.o $(B)/lua/%.o: NB_CPPFLAGS += $(FLOOR)
OLD_LIBC = -Wl,--push-state,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--pop-state

# The libraries of the front end and the shell. The plugin needs none.
LOAD_LIBS = $(shell $(PKG_CONFIG) --libs libbpf libelf)
LUA_CFLAGS = $(shell $(PKG_CONFIG) --cflags lua5.4)
LUA_LIBS = $(shell $(PKG_CONFIG) --libs lua5.4)
JSON_LIBS = $(shell $(PKG_CONFIG) --libs jansson)
# The agent's. The shell and the Lua module open libcurl when they need it.
STORE_LIBS = $(shell $(PKG_CONFIG) --libs libcurl jansson)
RELAY_LIBS = $(shell $(PKG_CONFIG) --libs libmicrohttpd gnutls)
EDIT_LIBS = $(shell $(PKG_CONFIG) --libs libedit)
SCREEN_LIBS = $(shell $(PKG_CONFIG) --libs ncursesw)
CHECK_LIBS = $(shell $(PKG_CONFIG) --libs check)
