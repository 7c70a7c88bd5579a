# SPDX-License-Identifier: MIT
# State embedding: tests and a fuzz target with its generator and machine.
$(B)/test/unit/test_verify_embedding: $(call o,test/embed/*.c)
$(B)/test/unit/test_verify_corpora: $(call o,test/embed/*.c)
$(B)/test/fuzz/fuzz_embed: $(call o,test/embed/*.c)
