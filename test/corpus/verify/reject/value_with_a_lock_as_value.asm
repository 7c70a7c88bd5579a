# SPDX-License-Identifier: MIT
# expect: reject lock_access 14
# opts: held
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked # near: lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r3, %r6
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
mov %r4, 0
call 2
out:
mov %r0, 0
exit
