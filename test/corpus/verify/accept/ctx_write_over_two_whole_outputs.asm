# SPDX-License-Identifier: MIT
# compilers merge stores to neighbours
# expect: accept
mov %r0, 0
stxdw [%r1+72], %r0
exit
