# SPDX-License-Identifier: MIT
# What test/integration/environments.table asks for. Never sanitized: the job
# that they run beside is not.
ENVIRONMENT := $(addprefix $(B)/test/fakes/environment/,deny preload.so)
tests-full: $(ENVIRONMENT)
ENVIRONMENT_CFLAGS = $(filter-out -fsanitize=% -fno-sanitize% --coverage,$(NB_CFLAGS) $(CFLAGS))

$(B)/test/fakes/environment/%.o: test/fakes/environment/%.c $(FLAGS)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(NB_CPPFLAGS) $(CPPFLAGS) $(ENVIRONMENT_CFLAGS) -c -o $@ $<

$(B)/test/fakes/environment/deny: $(B)/test/fakes/environment/deny.o
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^

# Its functions take the place of libc's.
$(B)/test/fakes/environment/preload.o: ENVIRONMENT_CFLAGS += -fvisibility=default
$(B)/test/fakes/environment/preload.so: $(B)/test/fakes/environment/preload.o
	$(call say,LD,$@)$(CC) -shared $(LDFLAGS) -o $@ $^ -lpthread
