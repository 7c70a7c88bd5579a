# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r7, %r0
call 5
stxdw [%r7], %r0
out:
stw [%r6+76], 4
mov %r0, 0
exit
