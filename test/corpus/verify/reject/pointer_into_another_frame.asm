# SPDX-License-Identifier: MIT
# Written is the byte in the frame of the caller, not that of its caller.
# expect: reject stack_uninit 15
stdw [%r10-8], 0 # near: stdw [%r10-16], 0
ldxw %r2, [%r1+28]
mov %r1, %r10
call local f
mov %r0, 0
exit
f:
stdw [%r10-16], 0
mov %r3, %r10
call local g
exit
g:
jeq %r2, 3, more
ja s
more:
mov %r3, %r1
s:
mov %r2, 0
mov %r1, 0
ldxdw %r0, [%r3-16]
mov %r0, 0
exit
