# SPDX-License-Identifier: MIT
# expect: reject local_output 1
# flow: copy
ldxw %r2, [%r1+64] # near: ldxdw %r2, [%r1+8]
stxdw [%r1+72], %r2
mov %r0, 0
exit
