# SPDX-License-Identifier: MIT
# expect: reject lock_access 13
# opts: held
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r1, %r6
mov %r2, 16 # near: mov %r2, 4
mov %r3, 0
mov %r4, %r10
add %r4, -24
call 197
out:
mov %r0, 0
exit
