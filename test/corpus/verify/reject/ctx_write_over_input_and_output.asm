# SPDX-License-Identifier: MIT
# expect: reject ctx_read_only 1
mov %r0, 0
stxdw [%r1+64], %r0 # near: stxdw [%r1+72], %r0
exit
