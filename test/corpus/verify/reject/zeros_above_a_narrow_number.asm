# SPDX-License-Identifier: MIT
# Zero bytes beside a narrow number are part of what a stored state says.
# expect: reject map_bounds 22
ldxw %r7, [%r1+28]
ldxdw %r8, [%r1]
and %r8, 7
jeq %r7, 3, bytes
stw [%r10-8], 0
stxb [%r10-8], %r8
ja s
bytes:
stw [%r10-8], -1 # near: stw [%r10-8], +0
stxb [%r10-8], %r8
s:
mov %r8, 0
mov %r7, 0
lookup @counts
jne %r0, 0, +2
mov %r0, 0
exit
ldxw %r1, [%r10-8]
add %r0, %r1
ldxb %r1, [%r0]
mov %r0, 0
exit
