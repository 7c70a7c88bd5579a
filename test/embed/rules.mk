# SPDX-License-Identifier: MIT
# State embedding: the unit test with its generator and machine.
$(B)/test/unit/test_verify_embedding: $(call o,test/embed/*.c)
