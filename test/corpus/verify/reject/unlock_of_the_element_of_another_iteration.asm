# SPDX-License-Identifier: MIT
# expect: reject unlock_other 24
# opts: held
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
lddw map %r1, @locked
lddw func %r2, cb
mov %r3, %r6
mov %r4, 0
call 164
out:
mov %r0, 0
exit
cb:
mov %r6, %r3 # near: mov %r6, %r4
mov %r7, %r4
mov %r1, %r6
add %r1, 4
call 93
mov %r1, %r7
add %r1, 4
call 94
mov %r0, 0
exit
