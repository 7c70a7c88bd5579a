# SPDX-License-Identifier: MIT
# Unit tests of the plugin's parts link what they test.
$(B)/test/unit/test_fence $(B)/test/unit/test_segment $(B)/test/unit/test_agree: \
	$(B)/plugin/fence.o $(B)/plugin/place.o $(B)/plugin/segment.o
# This one holds plugin/fence.c itself, with its steps.
$(B)/test/unit/test_fence_faults: $(B)/plugin/place.o $(B)/plugin/segment.o
$(B)/test/unit/test_tuner: $(call o,plugin/*.c plugin/abi/*.c)
