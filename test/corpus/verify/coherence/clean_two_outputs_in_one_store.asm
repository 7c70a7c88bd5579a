# SPDX-License-Identifier: MIT
# expect: accept
ldxdw %r2, [%r1+8]
stxdw [%r1+72], %r2
mov %r0, 0
exit
