# SPDX-License-Identifier: MIT
# expect: accept
stxdw [%r10-8], %r1
call 7
ldxdw %r1, [%r10-8]
ldxdw %r0, [%r1+8]
exit
