# SPDX-License-Identifier: MIT
# golden
# expect: reject unlock_free 16
# opts: held
mov %r7, %r1
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
ldxw %r2, [%r7+32]
jgt %r2, 4, join # near: jgt %r2, 4, out
mov %r1, %r6
add %r1, 4
call 93
join:
mov %r1, %r6
add %r1, 4
call 94
out:
mov %r0, 0
exit
