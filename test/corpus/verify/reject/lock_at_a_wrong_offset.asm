# SPDX-License-Identifier: MIT
# expect: reject lock_offset 10
# opts: held
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r1, %r6
add %r1, 8 # near: add %r1, 4
call 93
# near: mov %r1, %r6
# near: add %r1, 4
# near: call 94
out:
mov %r0, 0
exit
