# SPDX-License-Identifier: MIT
# expect: reject nullable 13
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
mov %r6, %r0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out # near: jeq %r6, 0, out
ldxdw %r1, [%r6]
out:
mov %r0, 0
exit
