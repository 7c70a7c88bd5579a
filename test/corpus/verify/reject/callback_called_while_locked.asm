# SPDX-License-Identifier: MIT
# golden
# expect: reject lock_call 16
# opts: held
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
mov %r1, 1
lddw func %r2, cb
mov %r3, %r10
mov %r4, 0
call 181 # near:
mov %r1, %r6
add %r1, 4
call 94
out:
mov %r0, 0
exit
cb:
mov %r0, 0
exit
