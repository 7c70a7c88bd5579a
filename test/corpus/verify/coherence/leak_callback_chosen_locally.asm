# SPDX-License-Identifier: MIT
# Which callback runs is local: so is what either one writes.
# expect: reject local_output 14
# flow: callback
mov %r6, %r1
stdw [%r10-8], 0
lddw func %r2, one
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+28]
jeq %r1, 0, go
lddw func %r2, other
go:
mov %r1, 1
mov %r3, %r10
add %r3, -8
mov %r4, 0
call 181
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
one:
stdw [%r2], 1
mov %r0, 0
exit
other:
mov %r0, 0
exit
