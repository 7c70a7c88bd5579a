# SPDX-License-Identifier: MIT
# golden
# expect: reject lock_access 9
# opts: held
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r2, 1
lock add32 [%r6+4], %r2 # near: lock add32 [%r6+0], %r2
out:
mov %r0, 0
exit
