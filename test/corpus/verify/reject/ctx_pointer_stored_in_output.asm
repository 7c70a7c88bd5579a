# SPDX-License-Identifier: MIT
# golden
# expect: reject pointer_store 2
mov %r2, %r1 # near: ldxw %r2, [%r1+32]
mov %r0, 0
stxw [%r1+68], %r2
exit
