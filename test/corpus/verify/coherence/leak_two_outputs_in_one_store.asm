# SPDX-License-Identifier: MIT
# expect: reject local_output 1
ldxw %r2, [%r1+64]
stxdw [%r1+72], %r2
mov %r0, 0
exit
