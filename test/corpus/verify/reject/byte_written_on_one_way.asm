# SPDX-License-Identifier: MIT
# Unknown data is not the same as no data.
# expect: reject stack_uninit 6
ldxdw %r2, [%r1]
ldxw %r7, [%r1+28]
stw [%r10-16], 0 # near: stw [%r10-8], 0
jeq %r7, 3, s
stxb [%r10-7], %r2
s:
mov %r7, 0
ldxb %r0, [%r10-7]
exit
