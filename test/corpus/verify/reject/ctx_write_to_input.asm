# SPDX-License-Identifier: MIT
# expect: reject ctx_read_only 1
mov %r0, 0
stxw [%r1+24], %r0 # near: stxw [%r1+68], %r0
exit
