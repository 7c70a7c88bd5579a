# SPDX-License-Identifier: MIT
# The Lua module: $(LUA_SO) exports luaopen_ncclbpf_core alone; the Lua half
# (lua/ncclbpf) is found beside it, in $(B)/lua/share for tests.
LUA_OBJ := $(call o,lua/core/*.c) $(B)/lua/bpf/embed.o

# The programs of `trace calls`, as bytes.
$(B)/lua/bpf/embed.c: $(B)/lua/bpf/calls.bpf.o lua/rules.mk
	@{ echo 'extern const unsigned char nb_calls_bpf[];'; \
	echo 'extern const unsigned long nb_calls_bpf_size;'; \
	echo 'const unsigned char nb_calls_bpf[] __attribute__((aligned(8))) = {'; \
	od -An -v -tu1 $< | sed 's/\([0-9][0-9]*\)/\1,/g'; echo '};'; \
	echo 'const unsigned long nb_calls_bpf_size = sizeof(nb_calls_bpf);'; \
	} >$@.new && mv $@.new $@
$(B)/lua/bpf/embed.o: $(B)/lua/bpf/embed.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(LUA_SO): $(LUA_OBJ) $(LOAD) $(CORE)
	@mkdir -p $(@D)
	$(CC) -shared $(SAN) $(LDFLAGS) -Wl,-z,relro,-z,now -o $@ $^ \
		$(LOAD_LIBS) $(JSON_LIBS) $(OLD_LIBC) -lm
