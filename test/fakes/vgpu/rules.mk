# SPDX-License-Identifier: MIT
# Virtual GPUs (libvgpu.so), the job that uses them, and the plugins its tests
# need. Included by the top Makefile; built where the CUDA headers and libnccl
# are, else VGPU_TARGETS is empty. The results are never sanitized: libvgpu.so
# is preloaded into programs that are not.

CUDA ?= /usr/local/cuda
VGPU_HAVE := $(and $(wildcard $(CUDA)/include/nccl.h),\
	$(wildcard $(CUDA)/include/cuda_runtime_api.h),\
	$(wildcard $(CUDA)/lib64/libnccl.so))
VGPU_TARGETS := $(if $(VGPU_HAVE),$(addprefix $(B)/test/fakes/vgpu/,\
	libvgpu.so job tuner_force.so tuner_costs.so profiler_count.so find_check \
	libamdhip64.so.7 librocm_smi64.so.7))

VGPU_LIB_O := $(patsubst %,$(B)/test/fakes/vgpu/%.o,\
	agent compat conf data driver find func gpu image kernel launch layout mem model nvml patch \
	rdv runtime runtime_launch slot spin stub)
VGPU_CFLAGS = $(filter-out -fsanitize=% -fno-sanitize% --coverage,$(NB_CFLAGS) $(CFLAGS))

$(B)/test/fakes/vgpu/%.o: test/fakes/vgpu/%.c $(FLAGS)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(NB_CPPFLAGS) $(CPPFLAGS) -isystem $(CUDA)/include $(VGPU_CFLAGS) -c -o $@ $<

$(B)/test/fakes/vgpu/libvgpu.so: $(VGPU_LIB_O)
	$(call say,LD,$@)$(CC) -shared $(LDFLAGS) -Wl,-soname,libvgpu.so -Wl,--no-undefined \
	    -o $@ $^ -lpthread -ldl -lm

# The same GPUs as AMD's, which an unmodified RCCL uses.
VGPU_HIP_O := $(filter-out $(patsubst %,$(B)/test/fakes/vgpu/%.o,compat find func image nvml patch),\
	$(VGPU_LIB_O)) $(patsubst %,$(B)/test/fakes/vgpu/%.o,hip hip_func hip_library)

$(B)/test/fakes/vgpu/libamdhip64.so.7: $(VGPU_HIP_O) test/fakes/vgpu/hip.map
	$(call say,LD,$@)$(CC) -shared $(LDFLAGS) -Wl,--version-script=test/fakes/vgpu/hip.map \
	    -Wl,-soname,$(@F) -Wl,--no-undefined -o $@ $(filter %.o,$^) -lpthread -ldl -lm

$(B)/test/fakes/vgpu/librocm_smi64.so.7: $(addprefix $(B)/test/fakes/vgpu/,hip_rsmi.o conf.o)
	$(call say,LD,$@)$(CC) -shared $(LDFLAGS) -Wl,-soname,$(@F) -Wl,--no-undefined -o $@ $^ -lpthread

$(B)/test/fakes/vgpu/job: $(addprefix $(B)/test/fakes/vgpu/,job.o job_check.o job_options.o)
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ -L$(CUDA)/lib64 \
	    -Wl,-rpath,$(CUDA)/lib64 -lnccl -lcudart -lm

$(B)/test/fakes/vgpu/find_check: $(addprefix $(B)/test/fakes/vgpu/,find_check.o find.o image.o conf.o)
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ -ldl

$(B)/test/fakes/vgpu/tuner_%.so: $(B)/test/fakes/vgpu/tuner_%.o
	$(call say,LD,$@)$(CC) -shared $(LDFLAGS) -o $@ $^

$(B)/test/fakes/vgpu/profiler_count.so: $(B)/test/fakes/vgpu/profiler_count.o
	$(call say,LD,$@)$(CC) -shared $(LDFLAGS) -o $@ $^

# Kernels' puts, played by host threads: needs NCCL's device headers and libcu++,
# which the toolkit keeps in one of two places.
LIBCUXX := $(firstword $(wildcard $(CUDA)/include/cccl/cuda/atomic $(CUDA)/include/cuda/atomic))
VGPU_GIN := $(if $(and $(VGPU_HAVE),$(LIBCUXX),$(wildcard $(CUDA)/include/nccl_device.h)),\
	$(B)/test/fakes/vgpu/gin_job $(if $(SAN),,$(B)/examples/moe-alltoall/moe_nccl))
GIN_CXX = $(CXX) -std=c++17 -O1 -g $(LDFLAGS) -I. -isystem $(CUDA)/include -isystem $(CUDA)/include/cccl
GIN_LIBS = -L$(CUDA)/lib64 -Wl,-rpath,$(CUDA)/lib64 -lnccl -lcudart -lpthread
$(B)/test/fakes/vgpu/gin_job: test/fakes/vgpu/gin_job.cc test/fakes/vgpu/gin_dev.hpp
	$(call say,CXX,$@)$(GIN_CXX) -o $@ $< $(GIN_LIBS)
$(B)/examples/moe-alltoall/moe_nccl: examples/moe-alltoall/moe_nccl.cc test/fakes/vgpu/gin_dev.hpp \
		examples/moe-alltoall/moe.h $(call o,examples/moe-alltoall/moe_layer.c examples/moe-alltoall/moe_job.c)
	$(call say,CXX,$@)$(GIN_CXX) -o $@ $< $(filter %.o,$^) $(GIN_LIBS)

# Symmetric windows: NCCL 2.27 and later.
VGPU_SYM := $(if $(and $(VGPU_HAVE),$(shell grep -l ncclCommWindowRegister $(CUDA)/include/nccl.h)),\
	$(B)/test/fakes/vgpu/sym_job)
$(B)/test/fakes/vgpu/sym_job: $(B)/test/fakes/vgpu/sym_job.o
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ -L$(CUDA)/lib64 \
	    -Wl,-rpath,$(CUDA)/lib64 -lnccl -lcudart -lpthread

tests: $(VGPU_TARGETS)
tests-full: $(VGPU_GIN) $(VGPU_SYM)
