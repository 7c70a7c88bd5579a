# SPDX-License-Identifier: MIT
# The Lua module: $(LUA_SO) exports luaopen_ncclbpf_core alone; the Lua half
# (lua/ncclbpf) is found beside it, in $(B)/lua/share for tests.
LUA_SO := $(B)/lua/ncclbpf.so
LUA_FILES := $(wildcard lua/ncclbpf/*.lua lua/ncclbpf/*/*.lua)
lib: $(LUA_SO)
$(B)/lua/%.o $(B)/shell/%.o: NB_CFLAGS += $(LUA_CFLAGS)

EMBEDDED := $(patsubst lua/bpf/%.bpf.c,%,$(wildcard lua/bpf/*.bpf.c))
LUA_OBJ := $(call o,lua/core/*.c lua/core/*/*.c) $(patsubst %,$(B)/lua/bpf/%_embed.o,$(EMBEDDED))

# Objects as bytes: the kernel's programs of `trace calls` and `trace rdma`, and the program of
# tables.
$(B)/lua/bpf/%_embed.c: $(B)/lua/bpf/%.bpf.o lua/lua.mk
	@{ echo 'extern const unsigned char nb_$*_bpf[];'; \
	echo 'extern const unsigned long nb_$*_bpf_size;'; \
	echo 'const unsigned char nb_$*_bpf[] __attribute__((aligned(8))) = {'; \
	od -An -v -tu1 $< | sed 's/\([0-9][0-9]*\)/\1,/g'; echo '};'; \
	echo 'const unsigned long nb_$*_bpf_size = sizeof(nb_$*_bpf);'; \
	} >$@.new && mv $@.new $@
$(B)/lua/bpf/%_embed.o: $(B)/lua/bpf/%_embed.c
	$(cc) -c -o $@ $<

$(LUA_SO): $(LUA_OBJ) $(STORE) $(LOADER) $(CORE) lua/core/core.map
	@mkdir -p $(@D)
	$(ld) -shared -Wl,--version-script=lua/core/core.map -Wl,-z,relro,-z,now -o $@ $(filter %.o,$^) \
		$(LOAD_LIBS) $(JSON_LIBS) $(OLD_LIBC) -lm
