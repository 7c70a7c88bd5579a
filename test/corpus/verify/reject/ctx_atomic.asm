# SPDX-License-Identifier: MIT
# golden
# expect: reject ctx_atomic 1
mov %r0, 1
lock add32 [%r1+68], %r0 # near: stxw [%r1+68], %r0
mov %r0, 0
exit
