# SPDX-License-Identifier: MIT
# The number of the iteration is below the number of iterations.
# expect: accept
stw [%r10-4], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -4
call 1
jeq %r0, 0, out
mov %r3, %r0
mov %r1, 64
lddw func %r2, cb
mov %r4, 0
call 181
out:
mov %r0, 0
exit
cb:
add %r2, %r1
stb [%r2], 1
mov %r0, 0
exit
