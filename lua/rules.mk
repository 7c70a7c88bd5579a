# SPDX-License-Identifier: MIT
# The Lua module: $(LUA_SO) exports luaopen_ncclbpf_core alone; the Lua half
# (lua/ncclbpf) is found beside it, in $(B)/lua/share for tests.
KERNEL_PROGRAMS := calls rdma
LUA_OBJ := $(call o,lua/core/*.c) $(patsubst %,$(B)/lua/bpf/%_embed.o,$(KERNEL_PROGRAMS))

# The kernel's programs of `trace calls` and `trace rdma`, as bytes.
$(B)/lua/bpf/%_embed.c: $(B)/lua/bpf/%.bpf.o lua/rules.mk
	@{ echo 'extern const unsigned char nb_$*_bpf[];'; \
	echo 'extern const unsigned long nb_$*_bpf_size;'; \
	echo 'const unsigned char nb_$*_bpf[] __attribute__((aligned(8))) = {'; \
	od -An -v -tu1 $< | sed 's/\([0-9][0-9]*\)/\1,/g'; echo '};'; \
	echo 'const unsigned long nb_$*_bpf_size = sizeof(nb_$*_bpf);'; \
	} >$@.new && mv $@.new $@
$(B)/lua/bpf/%_embed.o: $(B)/lua/bpf/%_embed.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(LUA_SO): $(LUA_OBJ) $(STORE) $(SIGN) $(LOAD) $(CORE)
	@mkdir -p $(@D)
	$(CC) -shared $(SAN) $(LDFLAGS) -Wl,-z,relro,-z,now -o $@ $^ \
		$(LOAD_LIBS) $(JSON_LIBS) $(SIGN_LIBS) $(OLD_LIBC) -lm
