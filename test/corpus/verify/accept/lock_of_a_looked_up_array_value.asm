# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @guarded
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r1, %r6
add %r1, 8
call 93
mov %r1, %r6
add %r1, 8
call 94
out:
mov %r0, 0
exit
