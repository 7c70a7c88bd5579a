# SPDX-License-Identifier: MIT
# expect: reject local_output 10
# flow: atomic
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r2, 1
lock fetch add [%r0], %r2
stxw [%r6+76], %r2 # near: stw [%r6+76], 1
out:
mov %r0, 0
exit
