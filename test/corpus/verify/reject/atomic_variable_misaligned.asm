# SPDX-License-Identifier: MIT
# expect: reject atomic_align 11
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
and %r1, 7 # near: and %r1, 8
add %r0, %r1
mov %r2, 1
lock add [%r0+8], %r2
out:
mov %r0, 0
exit
