# SPDX-License-Identifier: MIT
# expect: reject lock_held 20
# opts: held
mov %r7, %r1
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r1, %r6
add %r1, 4
call 93
ldxw %r2, [%r7+32]
jgt %r2, 4, early
mov %r1, %r6
add %r1, 4
call 94
out:
mov %r0, 0
exit
early:
# near: mov %r1, %r6
# near: add %r1, 4
# near: call 94
mov %r0, 0
exit
