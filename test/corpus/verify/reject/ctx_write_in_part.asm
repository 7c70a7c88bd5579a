# SPDX-License-Identifier: MIT
# golden
# expect: reject ctx_partial 1
mov %r0, 0
stxh [%r1+68], %r0 # near: stxw [%r1+68], %r0
exit
