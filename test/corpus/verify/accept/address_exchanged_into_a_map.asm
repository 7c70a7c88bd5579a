# SPDX-License-Identifier: MIT
# expect: accept
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r1, %r10
lock xchg [%r0], %r1
out:
mov %r0, 0
exit
