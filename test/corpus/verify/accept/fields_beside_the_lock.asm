# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
ldxw %r7, [%r1+32]
and %r7, 4
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
ldxw %r0, [%r6]
add %r6, %r7
stw [%r6+8], 1
out:
mov %r0, 0
exit
