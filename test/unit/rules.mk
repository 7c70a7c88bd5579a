# SPDX-License-Identifier: MIT
# The allocation failures are made by functions in the place of malloc's.
$(addprefix $(B)/test/unit/test_,alloc no_memory): LDFLAGS += $(foreach f,malloc \
	calloc realloc reallocarray aligned_alloc free mmap,-Wl,--wrap=$(f))
$(B)/test/unit/test_no_memory: LDFLAGS += -Wl,--wrap=strdup,--wrap=pthread_create,--wrap=getenv -rdynamic
$(B)/test/unit/test_no_memory: | $(B)/test/unit/in_constructor.so
$(B)/test/unit/in_constructor.so: $(B)/test/unit/in_constructor.o
	$(CC) -shared $(SAN) $(LDFLAGS) -o $@ $<
$(B)/test/unit/test_tuner_changes: LDFLAGS += -Wl,--wrap=nb_gen_count_add,--wrap=nb_segment_digest
$(B)/test/unit/test_tuner_ranks: LDFLAGS += -Wl,--wrap=mmap
$(B)/test/unit/test_loop_faults: LDFLAGS += -Wl,--wrap=nb_clock_system
$(B)/test/unit/test_exit: LDFLAGS += -Wl,--wrap=clock_gettime
$(addprefix $(B)/test/unit/test_,live loop_faults stopped tuner tuner_changes tuner_explain tuner_ranks): \
	LDFLAGS += -Wl,--export-dynamic-symbol=ncclGetVersion
$(B)/test/unit/test_host_map: LDFLAGS += -Wl,--wrap=mremap,--wrap=write
# A program at low addresses, with its heap behind it.
$(B)/test/unit/test_low_addresses: LDFLAGS += -no-pie
$(B)/test/unit/test_pools: LDFLAGS += -Wl,--wrap=statvfs,--wrap=fallocate
$(B)/test/unit/test_control_fork: LDFLAGS += -Wl,--wrap=close
# The store's client; test_store_etcd has a real etcd, test_store a fake one.
$(addprefix $(B)/test/unit/test_,store store_etcd): $(STORE)
$(addprefix $(B)/test/unit/test_,store store_etcd): LOAD_LIBS += $(STORE_LIBS)
$(B)/test/unit/test_store: LDFLAGS += -Wl,--wrap=curl_easy_setopt
$(B)/test/unit/test_sign: $(SIGN)
$(B)/test/unit/test_sign: LOAD_LIBS += $(SIGN_LIBS)
# The agent's server; the store's HTTP client asks it.
$(B)/test/unit/test_relay: $(RELAY) $(STORE) $(addprefix $(B)/plugin/,runtime/jobdir.o runtime/clock.o)
$(B)/test/unit/test_relay: LOAD_LIBS += $(RELAY_LIBS) $(STORE_LIBS)
$(B)/test/unit/test_relay: LDFLAGS += -Wl,--wrap=nb_request_parse,--wrap=close
