# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 1
mov %r2, 8
lock add [%r10-8], %r2
ldxdw %r0, [%r10-8]
exit
