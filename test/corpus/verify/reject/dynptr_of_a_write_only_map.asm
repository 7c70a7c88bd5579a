# SPDX-License-Identifier: MIT
# A dynptr would read what programs may only write.
# expect: reject map_write_only 13
# opts: held
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @sink # near: lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r1, %r0
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -24
mov %r6, 0
call 197
mov %r1, %r10
add %r1, -32
mov %r2, 8
mov %r3, %r10
add %r3, -24
mov %r4, 0
mov %r5, 0
call 201
out:
mov %r0, 0
exit
