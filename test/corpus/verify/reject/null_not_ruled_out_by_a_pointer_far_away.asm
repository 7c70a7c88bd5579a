# SPDX-License-Identifier: MIT
# expect: reject nullable 15
# So far from its value a pointer may be NULL.
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r6, %r0
add %r6, -1048576 # near: add %r6, 8
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jne %r0, %r6, out
ldxb %r1, [%r0]
out:
mov %r0, 0
exit
