# SPDX-License-Identifier: MIT
# expect: reject pointer_store 0
# near: ldxdw %r1, [%r1+8]
stxw [%r10-8], %r1
mov %r0, 0
exit
